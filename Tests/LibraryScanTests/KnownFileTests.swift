import Foundation
import LibraryFixtures
import LibraryScan
import PhotoFixtures
import PhotoModel
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// Which known file a found one is, if its inode or its content may be those of several, or of none.
@Suite("Known files under other names")
struct KnownFileTests {
  private static func scan(_ watched: WatchedLibrary, isFull: Bool) throws {
    if isFull { try watched.library.scan(watched.catalogue, removal: 100) } else { watched.settle() }
  }

  @Test(
    "a renamed photograph keeps its asset, whatever has its former name then",
    arguments: ["a folder", "a pipe", "a link out of the library", "a link to itself"], [true, false])
  func formerNameOfNoFile(_ what: String, _ isFull: Bool) throws {
    let watched = try WatchedLibrary(removal: 100) { library in
      try library.put(picture(1), "Trip")
      // A copy must not get the asset.
      try library.put(picture(1), "copies/Trip")
    }
    let before = try watched.identifiers()
    watched.move("Trip", "Trip.jpg")
    switch what {
    case "a folder": #expect(mkdir(watched.at("Trip"), 0o700) == 0)
    case "a pipe": #expect(mkfifo(watched.at("Trip"), 0o600) == 0)
    case "a link to itself": #expect(symlink("Trip", watched.at("Trip")) == 0)
    default: #expect(symlink(watched.outside, watched.at("Trip")) == 0)
    }
    try Self.scan(watched, isFull: isFull)
    let after = try watched.identifiers()
    #expect(after["Trip.jpg"] == before["Trip"] && after["copies/Trip"] == before["copies/Trip"], "\(what)")
    #expect(after.count == 2)
  }
}
