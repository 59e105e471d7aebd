// The verbs of `lockstep checkpoint`; as verbs.h.
#pragma once
#include "verbs.h"

namespace lockstep::app {

void add_checkpoint_inspect(CLI::App& checkpoint, Action& action);
void add_checkpoint_verify(CLI::App& checkpoint, Action& action);
void add_checkpoint_export(CLI::App& checkpoint, Action& action);
void add_checkpoint_import(CLI::App& checkpoint, Action& action);

}  // namespace lockstep::app
