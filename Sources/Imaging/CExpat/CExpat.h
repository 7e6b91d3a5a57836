// Expat as Swift sees it: XML a buffer at a time, for XMP.
#pragma once
#include <expat.h>
