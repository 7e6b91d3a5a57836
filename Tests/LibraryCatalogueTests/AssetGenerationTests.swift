import Foundation
import LibraryCatalogue
import LibraryFixtures
import PhotoFixtures
import PhotoModel
import Testing

#if canImport(Glibc)
  import Glibc
#endif

@Suite("Generations of assets")
struct AssetGenerationTests {
  private let library: TemporaryLibrary
  private let catalogue: Catalogue

  init() throws {
    library = try TemporaryLibrary()
    for side in 8...27 {
      try library.put(PNGFile(.rgb(depth: 8)).encoded(Pixels(width: side, height: 8, channels: 3)), "\(side).png")
    }
    catalogue = try library.catalogue()
    try library.scan(catalogue)
    // The first commit after the catalogue was opened counts for all assets.
    try put("first.png", width: 40)
  }

  private func put(_ name: String, width: Int) throws {
    try library.put(PNGFile(.rgb(depth: 8)).encoded(Pixels(width: width, height: 9, channels: 3)), name)
    try library.scan(catalogue)
  }

  private func generations() throws -> [(asset: Asset, generation: AssetGeneration)] {
    try catalogue.everything().values.map { ($0, catalogue.generation(of: $0.localIdentifier)) }
  }

  @Test("stay current while other assets are added, changed and removed, and end with a change of their own")
  func changes() throws {
    for change in ["add", "rename", "replace", "remove"] {
      let before = try generations()
      switch change {
      case "add": try put("added.png", width: 50)
      case "rename":
        #expect(rename(library.root + "/8.png", library.root + "/renamed.png") == 0)
        try library.scan(catalogue)
      case "replace": try put("9.png", width: 60)
      default:
        #expect(unlink(library.root + "/10.png") == 0)
        try library.scan(catalogue)
      }
      let after = try catalogue.everything()
      var dropped = 0
      for (asset, generation) in before {
        let isSame = after[asset.original.displayPath] == asset
        if !isSame { #expect(!catalogue.isCurrent(generation), "\(change): \(asset.original.displayPath)") }
        if !catalogue.isCurrent(generation) { dropped += 1 }
      }
      // Two assets of one group are rare, and only cost a lookup.
      #expect(dropped <= (change == "add" ? 0 : 2), "\(change)")
      #expect(dropped > 0 || change == "add")
    }
  }

  @Test("end with a commit of another process, once it is noticed")
  func unknown() throws {
    let before = try generations()
    try library.put(PNGFile(.rgb(depth: 8)).encoded(Pixels(width: 70, height: 9, channels: 3)), "other.png")
    try library.scan(try library.catalogue())
    #expect(before.allSatisfy { catalogue.isCurrent($0.generation) })
    catalogue.checkForExternalChanges()
    #expect(before.allSatisfy { !catalogue.isCurrent($0.generation) })
  }

  @Test("storing a placeholder leaves asset generations current")
  func placeholders() throws {
    let before = try generations()
    try catalogue.store(
      before.map {
        PlaceholderResult(
          localIdentifier: $0.asset.localIdentifier, contentVersion: $0.asset.contentVersion, placeholder: [1])
      })
    #expect(before.allSatisfy { catalogue.isCurrent($0.generation) })
  }

  @Test("records of staged uploads, of the trash and of scans leave asset generations current")
  func records() throws {
    let before = try generations()
    let number = catalogue.generation
    let upload = StagedUpload(
      identifier: UploadIdentifier(), owner: "a", filename: nil, length: 1, usedDate: Timestamp(milliseconds: 1))
    try catalogue.insert(upload)
    #expect(try catalogue.update(upload.identifier, length: nil, isComplete: true, usedDate: upload.usedDate))
    try catalogue.delete([upload])
    try catalogue.forgetMissingAssets(removedBefore: .max, now: .max)
    try catalogue.recordMounts([])
    try catalogue.recordScan(probeVersion: "another")
    #expect(before.allSatisfy { catalogue.isCurrent($0.generation) } && catalogue.generation == number)
  }
}
