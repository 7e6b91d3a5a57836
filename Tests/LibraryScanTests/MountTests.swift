import Foundation
import LibraryCatalogue
import LibraryFixtures
import LibraryScan
import PhotoFixtures
import PhotoModel
import Synchronization
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// Simulated devices by path below the root; all other folders are on device 1.
private final class Disks: Sendable {
  private let devices = Mutex<[String: UInt64]>([:])

  subscript(_ path: String) -> UInt64 {
    get { devices.withLock { $0[path] ?? 1 } }
    set { devices.withLock { $0[path] = newValue } }
  }

  /// - Parameter met: called when the walk enters a folder.
  func environment(_ met: @escaping @Sendable (String) -> Void = { _ in }) -> LibraryEnvironment {
    var environment = LibraryEnvironment.system
    environment.device = { [self] path, _ in
      let path = String(decoding: path, as: UTF8.self)
      met(path)
      // A folder without an entry is on the device of its parent.
      var folder = path[...]
      while true {
        if let device = devices.withLock({ $0[String(folder)] }) { return device }
        guard !folder.isEmpty else { return 1 }
        folder = folder.lastIndex(of: "/").map { folder[..<$0] } ?? ""
      }
    }
    return environment
  }
}

@Suite("Missing disks")
struct MountTests {
  /// The identifiers of all assets, by path.
  private func identifiers(_ catalogue: Catalogue) throws -> [String: LocalIdentifier] {
    try catalogue.everything().mapValues(\.localIdentifier)
  }

  @Test("an empty library folder is refused, however few files were known")
  func empty() throws {
    let library = try TemporaryLibrary()
    for i in 0..<3 { try library.put(smallJPEG, "\(i).jpg") }
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let before = try identifiers(catalogue)
    for i in 0..<3 { #expect(rename("\(library.root)/\(i).jpg", "\(library.data)/\(i).jpg") == 0) }
    #expect(throws: LibraryError.libraryIsEmpty(path: library.root, known: 3)) { try library.scan(catalogue) }
    #expect(try identifiers(catalogue) == before)
    for i in 0..<3 { #expect(rename("\(library.data)/\(i).jpg", "\(library.root)/\(i).jpg") == 0) }
    #expect(try library.scan(catalogue).probed == 0)
    #expect(try identifiers(catalogue) == before)
    for i in 0..<3 { unlink("\(library.root)/\(i).jpg") }
    #expect(try library.scan(catalogue, acceptingRemovals: true).removed == 3)
    #expect(try library.scan(catalogue) == ScanProgress(), "an empty library that is known to be empty")
  }

  @Test("another file system without known files is refused: nothing is read or removed")
  func otherFileSystem() throws {
    let library = try TemporaryLibrary()
    for i in 0..<12 { try library.put(smallJPEG, "\(i).jpg") }
    let disks = Disks()
    let catalogue = try library.catalogue()
    try library.scan(catalogue, environment: disks.environment())
    let before = try identifiers(catalogue)
    let moved = library.root + "-on its disk"
    #expect(rename(library.root, moved) == 0)
    // The same name, but not the same file.
    try library.put(smallPNG, "3.jpg")
    try library.put(smallPNG, "stray.png")
    disks[""] = 2
    let refusal = LibraryError.otherFileSystem(path: library.root)
    #expect(throws: refusal) { try library.scan(catalogue, removal: 100, environment: disks.environment()) }
    #expect(try identifiers(catalogue) == before)
    // Neither is another folder on the same disk.
    disks[""] = 1
    #expect(throws: refusal) { try library.scan(catalogue, environment: disks.environment()) }
    #expect(try identifiers(catalogue) == before)
    // After one scan that accepts removals, the new file system is recorded.
    let accepted = try library.scan(catalogue, acceptingRemovals: true, environment: disks.environment())
    #expect(accepted.removed == 11 && accepted.probed == 2)
    #expect(try library.scan(catalogue, environment: disks.environment()).files == 2)
  }

  @Test("another file system with known files is accepted as the same library, and is recorded")
  func broughtToAnotherDisk() throws {
    let library = try TemporaryLibrary()
    for i in 0..<30 { try library.put(smallJPEG, "\(i).jpg") }
    let disks = Disks()
    let catalogue = try library.catalogue()
    try library.scan(catalogue, environment: disks.environment())
    let before = try identifiers(catalogue)
    disks[""] = 2
    // Files are missing too, but not all of the sample, and their share is within the limit.
    for i in 10..<20 { unlink("\(library.root)/\(i).jpg") }
    #expect(try library.scan(catalogue, environment: disks.environment()).removed == 10)
    #expect(try identifiers(catalogue) == before.filter { !$0.key.hasPrefix("1") || $0.key == "1.jpg" })
    // Now this disk is recorded. Without any known file it is refused.
    disks[""] = 1
    for i in 0..<30 where !(10..<20).contains(i) {
      #expect(rename("\(library.root)/\(i).jpg", "\(library.root)/away \(i).jpg") == 0)
    }
    #expect(throws: LibraryError.otherFileSystem(path: library.root)) {
      try library.scan(catalogue, environment: disks.environment())
    }
    // On the recorded disk the files were only renamed.
    disks[""] = 2
    #expect(try library.scan(catalogue, environment: disks.environment()).moved == 20)
  }

  @Test(
    "the assets of a missing disk below the root are kept, and the rest of the library is scanned",
    arguments: ["its folder is empty", "its folder is gone", "another disk is in its place"])
  func nested(_ how: String) throws {
    let library = try TemporaryLibrary()
    for i in 0..<30 { try library.put(smallJPEG, "disks/old/\(i).jpg") }
    for i in 0..<10 { try library.put(smallJPEG, "here/\(i).jpg") }
    try library.put(smallJPEG, "disks/older.jpg")
    let disks = Disks()
    disks["disks/old"] = 7
    let catalogue = try library.catalogue()
    try library.scan(catalogue, environment: disks.environment())
    let before = try identifiers(catalogue)
    let (mountPoint, disk) = (library.root + "/disks/old", library.data + "/disk")
    #expect(rename(mountPoint, disk) == 0)
    disks["disks/old"] = 1
    switch how {
    case "its folder is empty": mkdir(mountPoint, 0o700)
    case "another disk is in its place":
      disks["disks/old"] = 8
      try library.put(smallPNG, "disks/old/1.jpg")
      try library.put(smallPNG, "disks/old/not ours.png")
    default: break
    }
    unlink(library.root + "/here/3.jpg")
    try library.put(smallJPEG, "here/new.jpg")
    for _ in 0..<2 {
      let progress = try library.scan(catalogue, environment: disks.environment())
      #expect(progress.missingMounts == 1 && progress.kept == 30)
    }
    var now = try identifiers(catalogue)
    #expect(now.removeValue(forKey: "here/new.jpg") != nil)
    #expect(now == before.filter { $0.key != "here/3.jpg" })
    // It is mounted again under another device number: nothing was lost, and no file has to be read.
    if how == "another disk is in its place" { #expect(rename(mountPoint, library.data + "/other") == 0) }
    rmdir(mountPoint)
    #expect(rename(disk, mountPoint) == 0)
    disks["disks/old"] = 9
    let back = try library.scan(catalogue, environment: disks.environment())
    #expect(back.missingMounts == 0 && back.kept == 0 && back.probed == 0 && back.removed == 0)
    // Removed permanently, with removals accepted.
    #expect(rename(mountPoint, disk) == 0)
    #expect(
      try library.scan(catalogue, acceptingRemovals: true, environment: disks.environment()).removed == 30)
    #expect(try library.scan(catalogue, environment: disks.environment()).missingMounts == 0)
  }

  @Test("sidecars that were written again below the mount point of a missing disk do not make it look mounted")
  func sidecarsOnly() throws {
    let library = try TemporaryLibrary()
    func putSidecars() throws { for i in 0..<10 { try library.put([1, 2, 3], "disk/\(i).jpg.xmp") } }
    for i in 0..<10 { try library.put(smallJPEG, "disk/\(i).jpg") }
    try putSidecars()
    for i in 0..<30 { try library.put(smallJPEG, "here/\(i).jpg") }
    let disks = Disks()
    disks["disk"] = 7
    let catalogue = try library.catalogue()
    try library.scan(catalogue, environment: disks.environment())
    let before = try identifiers(catalogue)
    #expect(rename(library.root + "/disk", library.data + "/disk") == 0)
    disks["disk"] = 1
    try putSidecars()
    let progress = try library.scan(catalogue, environment: disks.environment())
    #expect(progress.missingMounts == 1 && progress.removed == 0)
    #expect(try identifiers(catalogue) == before)
  }

  @Test("a folder that was a disk and now holds a copy of its files is scanned as an ordinary folder")
  func noMountAnyMore() throws {
    let library = try TemporaryLibrary()
    for i in 0..<30 { try library.put(smallJPEG, "disk/\(i).jpg") }
    let disks = Disks()
    disks["disk"] = 7
    let catalogue = try library.catalogue()
    try library.scan(catalogue, environment: disks.environment())
    disks["disk"] = 1
    for i in 0..<5 { unlink("\(library.root)/disk/\(i).jpg") }
    let progress = try library.scan(catalogue, environment: disks.environment())
    #expect(progress.removed == 5 && progress.missingMounts == 0)
    for i in 5..<25 { unlink("\(library.root)/disk/\(i).jpg") }
    #expect(try library.scan(catalogue, removal: 90, environment: disks.environment()).removed == 20)
  }

  @Test("a disk that is unmounted during a scan causes no removals")
  func goesMeanwhile() throws {
    let library = try TemporaryLibrary()
    for i in 0..<10 { try library.put(smallJPEG, "a/\(i).jpg") }
    for i in 0..<10 { try library.put(smallJPEG, "b/\(i).jpg") }
    let disks = Disks()
    disks["b"] = 7
    let catalogue = try library.catalogue()
    try library.scan(catalogue, environment: disks.environment())
    let before = try identifiers(catalogue)
    let root = library.root
    let isMounted = Atomic(true)
    let environment = disks.environment { path in
      // The walk reaches this folder first.
      guard path == "a", isMounted.exchange(false, ordering: .relaxed) else { return }
      rename(root + "/b", root + "/../disk")
      mkdir(root + "/b", 0o700)
      disks["b"] = 1
    }
    #expect(throws: LibraryError.mountsChanged) { try library.scan(catalogue, environment: environment) }
    #expect(try identifiers(catalogue) == before)
    let next = try library.scan(catalogue, environment: disks.environment())
    #expect(next.missingMounts == 1 && next.kept == 10 && next.removed == 0)
  }

  @Test("the assets of a disk that is missing before a first scan was complete are kept")
  func goesBeforeTheFirstScanCompletes() throws {
    let library = try TemporaryLibrary()
    for i in 0..<10 { try library.put(smallJPEG, "disk/\(i).jpg") }
    for name in ["here.jpg", "z/1.jpg"] { try library.put(smallJPEG, name) }
    let disks = Disks()
    disks["disk"] = 7
    let catalogue = try library.catalogue()
    let stop = StopFlag()
    try library.scan(catalogue, environment: disks.environment { if $0 == "z" { stop.raise() } }, stop: stop)
    let before = try identifiers(catalogue)
    #expect(try before.count == 12 && !catalogue.scanState(for: .local).isFirstScanComplete)
    #expect(rename(library.root + "/disk", library.data + "/disk") == 0)
    mkdir(library.root + "/disk", 0o700)
    disks["disk"] = 1
    let progress = try library.scan(catalogue, environment: disks.environment())
    #expect(progress.missingMounts == 1 && progress.kept == 10 && progress.removed == 0)
    #expect(try identifiers(catalogue) == before)
  }

  @Test(
    "the asset of a link to a file is kept while the disk of the file is missing or hidden", arguments: [true, false])
  func linkedFile(_ isHidden: Bool) throws {
    let library = try TemporaryLibrary()
    for i in 0..<10 { try library.put(smallJPEG, "x/\(i).jpg") }
    for i in 0..<10 { try library.put(smallPNG, "here/\(i).png") }
    #expect(symlink("../x/3.jpg", library.root + "/here/link.jpg") == 0)
    let disks = Disks()
    if !isHidden { disks["x"] = 7 }
    let catalogue = try library.catalogue()
    try library.scan(catalogue, environment: disks.environment())
    let before = try identifiers(catalogue)
    try #require(before.count == 21)
    let (folder, disk) = (library.root + "/x", library.data + "/disk")
    #expect(rename(folder, disk) == 0)
    try library.put([1], "x/README")
    disks["x"] = isHidden ? 8 : 1
    for _ in 0..<2 {
      let progress = try library.scan(catalogue, removal: 100, environment: disks.environment())
      #expect(progress.missingMounts == 1 && progress.kept == 11 && progress.removed == 0)
      #expect(try identifiers(catalogue) == before)
    }
    var found: [CheckDifference] = []
    let check = CatalogueCheck(catalogue: catalogue, directory: library.root, environment: disks.environment())
    _ = try check.run { found.append($0) }
    #expect(!found.contains(.onlyInCatalogue(path: Array("here/link.jpg".utf8))))
    // It is mounted again, and the file is really gone.
    unlink(folder + "/README")
    #expect(rmdir(folder) == 0 && rename(disk, folder) == 0)
    disks["x"] = isHidden ? 1 : 7
    unlink(folder + "/3.jpg")
    #expect(try library.scan(catalogue, environment: disks.environment()).removed == 2)
  }

  @Test("a disk that is mounted over a folder hides the assets of that folder, which are kept")
  func mountedOver() throws {
    let library = try TemporaryLibrary()
    for i in 0..<20 { try library.put(smallJPEG, "x/\(i).jpg") }
    for i in 0..<30 { try library.put(smallJPEG, "y/\(i).jpg") }
    let disks = Disks()
    let catalogue = try library.catalogue()
    try library.scan(catalogue, environment: disks.environment())
    let before = try identifiers(catalogue)
    let (folder, hidden, disk) = (library.root + "/x", library.data + "/hidden", library.data + "/disk")
    #expect(rename(folder, hidden) == 0)
    try library.put(smallPNG, "x/other.png")
    disks["x"] = 8
    for _ in 0..<2 {
      let progress = try library.scan(catalogue, environment: disks.environment())
      #expect(progress.missingMounts == 1 && progress.kept == 20 && progress.removed == 0 && progress.probed == 0)
      #expect(try identifiers(catalogue) == before)
    }
    // It is unmounted: nothing was lost, and no file has to be read.
    #expect(rename(folder, disk) == 0 && rename(hidden, folder) == 0)
    disks["x"] = 1
    let back = try library.scan(catalogue, environment: disks.environment())
    #expect(back.missingMounts == 0 && back.kept == 0 && back.removed == 0 && back.probed == 0)
    #expect(try identifiers(catalogue) == before)
    // It is mounted again, and stays.
    #expect(rename(folder, hidden) == 0 && rename(disk, folder) == 0)
    disks["x"] = 8
    #expect(try library.scan(catalogue, environment: disks.environment()).kept == 20)
    let accepted = try library.scan(catalogue, acceptingRemovals: true, environment: disks.environment())
    #expect(accepted.removed == 20 && accepted.probed == 1)
    #expect(try library.scan(catalogue, environment: disks.environment()).missingMounts == 0)
  }

  @Test("a disk that is mounted in place of a folder that was renamed, or that has no asset, hides nothing")
  func mountedInPlace() throws {
    let library = try TemporaryLibrary()
    for i in 0..<20 { try library.put(smallJPEG, "x/\(i).jpg") }
    try library.put(Array("not mounted".utf8), "z/README")
    let disks = Disks()
    let catalogue = try library.catalogue()
    try library.scan(catalogue, environment: disks.environment())
    let before = try identifiers(catalogue)
    #expect(rename(library.root + "/x", library.root + "/y") == 0)
    unlink(library.root + "/z/README")
    for folder in ["x", "z"] {
      try library.put(smallPNG, folder + "/other.png")
      disks[folder] = folder == "x" ? 8 : 9
    }
    #expect(try library.scan(catalogue, environment: disks.environment()).moved == 20)
    let moved = before.map { ("y\($0.key.dropFirst())", $0.value) }
    var now = try identifiers(catalogue)
    for folder in ["x", "z"] { #expect(now.removeValue(forKey: folder + "/other.png") != nil, "\(folder)") }
    #expect(now == Dictionary(uniqueKeysWithValues: moved))
    let next = try library.scan(catalogue, environment: disks.environment())
    #expect(next.missingMounts == 0 && next.probed == 0)
  }

  @Test("a disk that is mounted under another name keeps its assets", arguments: ["archive", "the archive"])
  func mountedElsewhere(_ name: String) throws {
    let library = try TemporaryLibrary()
    for i in 0..<10 { try library.put(smallJPEG, "disk/\(i).jpg") }
    try library.put(smallJPEG, "here.jpg")
    let disks = Disks()
    disks["disk"] = 7
    let catalogue = try library.catalogue()
    try library.scan(catalogue, environment: disks.environment())
    let before = try identifiers(catalogue)
    #expect(rename(library.root + "/disk", library.root + "/" + name) == 0)
    disks["disk"] = 1
    disks[name] = 7
    // One file was removed meanwhile. It may be on the missing disk.
    unlink(library.root + "/\(name)/3.jpg")
    let progress = try library.scan(catalogue, environment: disks.environment())
    #expect(progress.moved == 9 && progress.removed == 0)
    let now = try identifiers(catalogue)
    for i in 0..<10 where i != 3 { #expect(now["\(name)/\(i).jpg"] == before["disk/\(i).jpg"]) }
    #expect(now.count == 11 && now["disk/3.jpg"] == before["disk/3.jpg"])
    #expect(try library.scan(catalogue, environment: disks.environment()).probed == 0)
    #expect(try library.scan(catalogue, acceptingRemovals: true, environment: disks.environment()).removed == 1)
    #expect(try library.scan(catalogue, environment: disks.environment()).missingMounts == 0)
  }

  @Test("missing disks are recognised with real file systems", .enabled(if: TemporaryFileSystem.canMount))
  func realMounts() throws {
    let library = try TemporaryLibrary()
    try library.put(smallJPEG, "here.jpg")
    let catalogue = try library.catalogue()
    let disk = try TemporaryFileSystem(at: library.root + "/disk", bytes: 1 << 20)
    for i in 0..<10 { try library.put(smallJPEG, "disk/\(i).jpg") }
    try library.scan(catalogue)
    let before = try identifiers(catalogue)
    disk.unmount()
    #expect(try library.scan(catalogue).kept == 10)
    #expect(try identifiers(catalogue) == before)
    // An empty disk is mounted over the root, then one with other files.
    let cover = try TemporaryFileSystem(at: library.root, bytes: 1 << 20)
    #expect(throws: LibraryError.libraryIsEmpty(path: library.root, known: 11)) { try library.scan(catalogue) }
    try library.put(smallPNG, "other.png")
    #expect(throws: LibraryError.otherFileSystem(path: library.root)) { try library.scan(catalogue) }
    #expect(try identifiers(catalogue) == before)
    cover.unmount()
    #expect(try library.scan(catalogue).kept == 10)
  }
}
