#%Module1.0
set prefix /opt/lockstep

proc ModulesHelp { } {
    puts stderr "Lockstep trains neural networks in step on many processes. Try: lockstep info"
}
module-whatis "Lockstep: synchronous data-parallel training on libtorch"
conflict lockstep

if { ![file executable $prefix/bin/lockstep] } {
    puts stderr "lockstep: there is no $prefix/bin/lockstep; set prefix in [module-info name] to the installation"
    break
}
setenv       LOCKSTEP_ROOT     $prefix
prepend-path PATH              $prefix/bin
prepend-path CMAKE_PREFIX_PATH $prefix
