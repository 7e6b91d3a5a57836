enum PlaceholderPhotoFixtures {}
