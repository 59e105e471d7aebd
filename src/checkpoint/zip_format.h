// The parts of a ZIP file, as its specification (APPNOTE) names and places them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace lockstep::checkpoint::zip {

// A part begins with its signature and has a fixed size, before names and extra fields.
struct Part {
  std::string_view signature;
  std::size_t size;
};
inline constexpr Part kLocalHeader = {"PK\3\4", 30};
inline constexpr Part kCentralHeader = {"PK\1\2", 46};
inline constexpr Part kEnd = {"PK\5\6", 22};
inline constexpr Part kEnd64 = {"PK\6\6", 56};
inline constexpr Part kEnd64Locator = {"PK\6\7", 20};

// A field that holds this has its value in the part of 64 bits.
inline constexpr std::uint16_t kInLarge16 = 0xffff;
inline constexpr std::uint32_t kInLarge32 = 0xffffffff;

inline constexpr std::uint16_t kStored = 0;
inline constexpr std::uint16_t kEncrypted = 1;          // a flag
inline constexpr std::uint16_t kNamesAreUtf8 = 0x800;   // a flag
inline constexpr std::uint16_t kLargeField = 1;         // the extra field of 64-bit sizes
inline constexpr std::uint16_t kPaddingField = 0x4246;  // "FB", by which torch.save aligns what follows

}  // namespace lockstep::checkpoint::zip
