// windlass for C++17.

#ifndef WINDLASS_HPP
#define WINDLASS_HPP

#include "windlass.h"

#endif
