// A library that does nothing: only its name matters.
extern "C" int lockstep_stub() {
  return 0;
}
