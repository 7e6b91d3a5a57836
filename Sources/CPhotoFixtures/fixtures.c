#include "CPhotoFixtures.h"
