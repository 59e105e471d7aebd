// What a profiler is to NVTX: a library named by NVTX_INJECTION64_PATH, which hears of every range. It keeps them as
// lines for a test: "push NAME", "push registered NAME" and "pop".
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include <nvtx3/nvToolsExt.h>

#define LOCKSTEP_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

std::mutex mutex;
std::vector<std::string> lines;
std::set<std::string> names;  // a handle is the address of one of them

int keep(const std::string& line) {
  const std::lock_guard lock(mutex);
  lines.push_back(line);
  return 0;
}

int push(const char* name) {
  return keep(std::string("push ") + name);
}

int push_in_domain(nvtxDomainHandle_t /*domain*/, const nvtxEventAttributes_t* attributes) {
  if (attributes->messageType != NVTX_MESSAGE_TYPE_REGISTERED)
    return keep(std::string("push ") + attributes->message.ascii);
  return keep("push registered " + *reinterpret_cast<const std::string*>(attributes->message.registered));
}

int pop() {
  return keep("pop");
}

nvtxStringHandle_t register_name(nvtxDomainHandle_t /*domain*/, const char* name) {
  const std::lock_guard lock(mutex);
  return reinterpret_cast<nvtxStringHandle_t>(const_cast<std::string*>(&*names.insert(name).first));
}

}  // namespace

// Takes the lines that were kept since the last call.
LOCKSTEP_EXPORT void lockstep_test_take_ranges(std::vector<std::string>& taken) {
  const std::lock_guard lock(mutex);
  taken = std::move(lines);
  lines.clear();
}

LOCKSTEP_EXPORT int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table) {
  const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(get_table(NVTX_ETID_CALLBACKS));
  const auto set = [&](NvtxCallbackModule module, unsigned id, auto function) {
    NvtxFunctionTable table = nullptr;
    unsigned size = 0;
    if (callbacks->GetModuleFunctionTable(module, &table, &size) == 0 || size <= id) return;
    *table[id] = reinterpret_cast<NvtxFunctionPointer>(function);
  };
  set(NVTX_CB_MODULE_CORE, NVTX_CBID_CORE_RangePushA, push);
  set(NVTX_CB_MODULE_CORE, NVTX_CBID_CORE_RangePop, pop);
  set(NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE2_DomainRangePushEx, push_in_domain);
  set(NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE2_DomainRegisterStringA, register_name);
  return 1;
}
