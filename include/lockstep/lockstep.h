// Everything that a program needs.
#pragma once
#include <lockstep/base/command_line.h>
#include <lockstep/base/environment.h>
#include <lockstep/base/errors.h>
#include <lockstep/base/files.h>
#include <lockstep/base/log.h>
#include <lockstep/base/placement.h>
#include <lockstep/base/rank.h>
#include <lockstep/base/table.h>
#include <lockstep/base/text.h>
#include <lockstep/base/version.h>
#include <lockstep/comm/group.h>
#include <lockstep/comm/world.h>
#include <lockstep/data/idx.h>
#include <lockstep/data/mnist.h>
#include <lockstep/train/progress.h>
