#include "gpu_locality.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <fstream>

#include <lockstep/base/cpu_list.h>
#include <lockstep/base/text.h>

namespace lockstep::launch {
namespace {

// The driver says 00000000:1B:00.0 where the kernel says 0000:1b:00.0.
std::string kernel_address(std::string address) {
  std::transform(address.begin(), address.end(), address.begin(), [](unsigned char c) { return std::tolower(c); });
  constexpr std::size_t kDomainDigits = 4;
  const std::size_t digits = std::min(address.find(':'), address.size());
  return digits > kDomainDigits ? address.substr(digits - kDomainDigits) : address;
}

}  // namespace

NearGpu locate_gpu(const std::string& pci_address, const std::filesystem::path& devices) {
  std::string list;
  std::getline(std::ifstream(devices / kernel_address(pci_address) / "local_cpulist"), list);
  return {.pci_address = pci_address, .cpus = parse_cpu_list(list).value_or(std::vector<int>{})};
}

std::vector<NearGpu> visible_gpus(const std::vector<NearGpu>& all, const std::optional<std::string>& variable) {
  if (!variable) return all;
  std::vector<NearGpu> visible;
  for (const std::string& word : split(*variable, ',')) {
    std::size_t number = 0;
    const char* end = word.data() + word.size();
    const auto [stop, error] = std::from_chars(word.data(), end, number);
    if (error != std::errc{} || stop != end || number >= all.size()) break;
    visible.push_back(all[number]);
  }
  return visible;
}

}  // namespace lockstep::launch
