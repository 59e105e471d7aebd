#include "become.h"

#include <unistd.h>

#include <cerrno>

#include <lockstep/base/errors.h>
#include <lockstep/base/files.h>

namespace lockstep::app {

std::string program_beside(const std::string& name) {
  return (files::program_folder() / name).string();
}

void become(const std::vector<std::string>& words) {
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  ::execv(argv[0], argv.data());
  const int error = errno;
  throw RuntimeError({.message = system_error("cannot execute '" + words[0] + "'", error).what(),
                      .next = "it belongs beside lockstep; install them together"});
}

}  // namespace lockstep::app
