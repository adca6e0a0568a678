// What a process can see of itself and of its host.

#pragma once

#include <cstdint>
#include <vector>

#include "line.hpp"

namespace probe
{

/// Bytes that came over this network namespace's loopback interface so far.
std::int64_t loopback_bytes();

/// Files of shared memory that this process has in its memory: name, and device with inode.
std::vector<Line> shared_memory();

/// Where a message lies, in memory of this process alone.
Line buffer(std::uint64_t number, const void * address);

}  // namespace probe
