# Makes a C++ file with a string_view for each of some text files: page.css becomes page_css.
#
#   cmake -DOUTPUT=FILE.cpp -DNAMESPACE=a::b -DHEADER=FILE.h -DFILES=a.css,b.js -P EmbedText.cmake
set(text "#include \"${HEADER}\"\n\nnamespace ${NAMESPACE} {\n")
string(REPLACE "," ";" files "${FILES}")
foreach(file IN LISTS files)
  get_filename_component(name ${file} NAME)
  string(REPLACE "." "_" name ${name})
  file(READ ${file} content)
  string(APPEND text "\nconst std::string_view ${name} = R\"lockstep(${content})lockstep\";\n")
endforeach()
string(APPEND text "\n}  // namespace ${NAMESPACE}\n")
file(WRITE ${OUTPUT} "${text}")
