// A small TorchScript file, written from TorchScript's own language.
#pragma once
#include <string>

#include <torch/csrc/jit/api/module.h>
#include <torch/torch.h>

#include "temporary_folder.h"

namespace lockstep::test {

// Takes 4 numbers to 3: a linear layer `fc`, a buffer `scale`, and 1 more while it trains.
inline std::string write_script_net(const TemporaryFolder& folder, const std::string& output = "x") {
  torch::jit::Module fc("Linear"), net("Net");
  fc.register_parameter("weight", torch::randn({3, 4}).requires_grad_(), false);
  fc.define("def forward(self, x):\n  return torch.matmul(x, self.weight.t())\n");
  net.register_module("fc", fc);
  net.register_attribute("training", c10::BoolType::get(), true);
  net.register_buffer("scale", torch::full({1}, 2.0));
  net.define(
      "def forward(self, x):\n  x = self.fc.forward(x) * self.scale\n  if self.training:\n    x = x + 1\n  return " +
      output + "\n");
  const std::string path = folder.path() / "net.pt";
  net.save(path);
  return path;
}

}  // namespace lockstep::test
