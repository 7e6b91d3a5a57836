import Foundation
import LibraryFixtures
import PhotoFixtures
import PhotoModel
import Testing

@testable import LibraryCatalogue

#if canImport(Glibc)
  import Glibc
#endif

/// How an upload affects existing assets, depending on what its sender may see.
@Suite("Uploads next to assets that the sender may not see")
struct UploadVisibilityTests {
  /// Senders that can see none of the existing assets.
  enum Sender: String, CaseIterable {
    case addOnly, limitedElsewhere

    var principal: Principal {
      switch self {
      case .addOnly: Principal(name: "adder", scopes: [.add])
      case .limitedElsewhere:
        Principal(name: "limited", scopes: [.read, .write], visibility: .collections([LocalIdentifier("none")]))
      }
    }
  }

  private static func jpeg(width: Int = 32, milliseconds: Int = 0) -> [UInt8] {
    let exif = EXIFBlock {
      $0.make = "Maker"
      $0.model = "C1"
      $0.dateTimeOriginal = "2024:05:06 07:08:09"
      $0.offsetTimeOriginal = "+00:00"
      $0.subSecTimeOriginal = String(format: "%03d", milliseconds)
    }
    return JPEGFile { $0.exif = exif }.encoded(Pixels.orientationCard(width: width, height: 24))
  }

  private static let raw = TIFFPicture.nef(
    TIFFPicture.Details {
      $0.make = "NIKON"
      $0.dateTimeOriginal = "2024:05:06 07:08:09"
      $0.offsetTimeOriginal = "+00:00"
    }
  ).bytes

  private static let video = MovieFile {
    // 2024-05-06T07:08:09Z, in seconds since 1904.
    $0.created = 3_797_824_089
    $0.duration = 1800
  }.bytes

  @Test(
    "a companion file joins its picture only for a sender who may see the picture",
    arguments: [("raw data", raw, "IMG.NEF"), ("the video of a live photo", video, "IMG.MOV")])
  func partner(_ kind: String, _ bytes: [UInt8], _ name: String) throws {
    let senders: [Sender?] = [nil, .addOnly, .limitedElsewhere]
    for sender in senders {
      let library = try TemporaryLibrary()
      let catalogue = try library.catalogue()
      let files = try library.files(catalogue)
      let picture = try files.upload(Self.jpeg(), "IMG.JPG").asset
      let upload = try files.upload(bytes, name, for: sender?.principal ?? .local)
      #expect(upload.isNew)
      let after = try catalogue.everything()["2024/05/IMG.JPG"]
      if let sender {
        #expect(upload.asset.localIdentifier != picture.localIdentifier, "\(sender) \(kind)")
        #expect(after == picture, "\(sender) \(kind)")
      } else {
        #expect(upload.asset.localIdentifier == picture.localIdentifier, "they do belong together: \(kind)")
      }
    }
  }

  @Test("a file at the path of a removed file is a new asset", arguments: Sender.allCases)
  func stalePath(_ sender: Sender) throws {
    let library = try TemporaryLibrary()
    let catalogue = try library.catalogue()
    let files = try library.files(catalogue)
    let picture = try files.upload(Self.jpeg(), "IMG.JPG").asset
    #expect(unlink(library.root + "/2024/05/IMG.JPG") == 0)
    let upload = try files.upload(Self.jpeg(width: 40), "IMG.JPG", for: sender.principal)
    #expect(upload.isNew && upload.asset.localIdentifier != picture.localIdentifier)
    #expect(try catalogue.asset(picture.localIdentifier, for: .local) == picture)
  }

  @Test("an upload does not take over the asset of a file that was renamed, but brings a lost file back")
  func knownPath() throws {
    let library = try TemporaryLibrary()
    let catalogue = try library.catalogue()
    let files = try library.files(catalogue)
    let (moved, lost) = (try files.upload(Self.jpeg(), "IMG.JPG").asset, try files.upload(smallJPEG, "lost.jpg").asset)
    let folder = library.root + "/2024/05/"
    #expect(rename(folder + "IMG.JPG", folder + "renamed.jpg") == 0)
    let upload = try files.upload(Self.jpeg(width: 40), "IMG.JPG")
    #expect(upload.isNew && upload.asset.localIdentifier != moved.localIdentifier)
    #expect(unlink(library.root + "/" + lost.original.displayPath) == 0)
    #expect(try files.upload(smallJPEG, "lost.jpg").asset.localIdentifier == lost.localIdentifier)
    try library.scan(catalogue)
    let after = try catalogue.everything()
    #expect(after["2024/05/renamed.jpg"]?.localIdentifier == moved.localIdentifier && after.count == 3, "\(after.keys)")
  }

  @Test("an upload gets no edit from the sidecar of another file; the other parts of its photograph may share it")
  func sidecar() throws {
    let library = try TemporaryLibrary()
    let catalogue = try library.catalogue()
    let files = try library.files(catalogue)
    try library.put(Array("<x/>".utf8), "2024/05/IMG.xmp")
    let paths = try [("IMG.JPG", Self.jpeg()), ("IMG.JPEG", Self.jpeg(width: 40))].map {
      try files.upload($0.1, $0.0).asset.original.displayPath
    }
    #expect(paths == ["2024/05/IMG-2.JPG", "2024/05/IMG-3.JPEG"])
    try library.put(Array("<x/>".utf8), "2024/05/IMG-2.xmp")
    #expect(try files.upload(Self.raw, "IMG-2.NEF").asset.resources(catalogue).contains("2024/05/IMG-2.NEF"))
    #expect(try files.upload(Self.jpeg(width: 48), "IMG-2.jpeg").asset.original.displayPath == "2024/05/IMG-2-2.jpeg")
  }

  @Test(
    "the parts of a photograph get one number if another one has their name, in any order and whatever its extension",
    arguments: [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]], ["JPG", "PNG"])
  func numbered(_ order: [Int], _ stranger: String) throws {
    let library = try TemporaryLibrary()
    try library.put(stranger == "JPG" ? smallJPEG : smallPNG, "2024/05/IMG.\(stranger)")
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let files = try library.files(catalogue)
    let parts = [("IMG.JPG", Self.jpeg()), ("IMG.NEF", Self.raw), ("IMG.MOV", Self.video)]
    for index in order { _ = try files.upload(parts[index].1, parts[index].0) }
    let paths = ["2024/05/IMG.\(stranger)", "2024/05/IMG-2.JPG", "2024/05/IMG-2.NEF", "2024/05/IMG-2.MOV"]
    #expect(library.allFiles == Set(paths))
    #expect(try Set(catalogue.everything().keys) == Set(paths.prefix(2)))
  }

  @Test("an upload of an add-only sender does not turn existing pictures into a burst")
  func burst() throws {
    let library = try TemporaryLibrary()
    let catalogue = try library.catalogue()
    let files = try library.files(catalogue)
    let (first, second) = (Self.jpeg(milliseconds: 300), Self.jpeg(milliseconds: 400))
    let pictures = [try files.upload(first, "1.jpg").asset, try files.upload(second, "2.jpg").asset]
    _ = try files.upload(Self.jpeg(milliseconds: 200), "3.jpg", for: Sender.addOnly.principal)
    for picture in pictures { #expect(try catalogue.asset(picture.localIdentifier, for: .local) == picture) }
    _ = try files.upload(Self.jpeg(milliseconds: 500), "4.jpg")
    let burst = try catalogue.asset(pictures[1].localIdentifier, for: .local)?.burst
    #expect(burst != nil, "they do follow each other")
  }

  @Test(
    "an upload with the content of an unscanned file uses that file, if the sender may read",
    arguments: [(Set<Scope>([.read, .write]), "2024/05/IMG.JPG"), (Set<Scope>([.add]), "2024/05/IMG-2.JPG")])
  func stray(_ scopes: Set<Scope>, _ path: String) throws {
    let library = try TemporaryLibrary()
    let files = try library.files(try library.catalogue())
    try library.put(Self.jpeg(), "2024/05/IMG.JPG")
    let upload = try files.upload(Self.jpeg(), "IMG.JPG", for: Principal(name: "sender", scopes: scopes))
    #expect(upload.isNew && upload.asset.original.displayPath == path)
  }
}

extension Asset {
  /// The paths of all its files.
  fileprivate func resources(_ catalogue: Catalogue) throws -> [String] {
    try catalogue.files(of: localIdentifier).map { String(decoding: $0.path, as: UTF8.self) }
  }
}
