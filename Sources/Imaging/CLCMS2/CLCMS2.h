// Little CMS as Swift sees it: profiles and transforms in memory.
#pragma once
#include <lcms2.h>
