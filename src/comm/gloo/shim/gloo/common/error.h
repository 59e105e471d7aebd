// See ../../README.md. ProcessGroupGloo.hpp needs nothing of this one but that it exists.
#pragma once
