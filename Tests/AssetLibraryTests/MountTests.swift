import AssetLibrary
import Foundation
import PhotoFixtures
import PhotoModel
import Synchronization
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// What the kernel would say of devices, changed by hand: by path below the root, all else on device 1.
private final class Disks: Sendable {
  private let devices = Mutex<[String: UInt64]>([:])

  subscript(_ path: String) -> UInt64 {
    get { devices.withLock { $0[path] ?? 1 } }
    set { devices.withLock { $0[path] = newValue } }
  }

  /// - Parameter met: called as a folder is walked into.
  func environment(_ met: @escaping @Sendable (String) -> Void = { _ in }) -> LibraryEnvironment {
    var environment = LibraryEnvironment.system
    environment.device = { [self] path, _ in
      let path = String(decoding: path, as: UTF8.self)
      met(path)
      // A folder is on its parent's device unless it is said to be on another.
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

@Suite("Disks that are not mounted")
struct MountTests {
  /// The identifiers of everything that is known, by path.
  private func identifiers(_ catalogue: Catalogue) throws -> [String: LocalIdentifier] {
    try catalogue.everything().mapValues(\.localIdentifier)
  }

  @Test("an empty folder is no library whose files were all deleted, however few they were")
  func empty() throws {
    let library = try TemporaryLibrary()
    for i in 0..<3 { try library.put(smallJPEG, "\(i).jpg") }
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let before = try identifiers(catalogue)
    for i in 0..<3 { #expect(rename("\(library.root)/\(i).jpg", "\(library.data)/\(i).jpg") == 0) }
    #expect(throws: AssetLibraryError.libraryIsEmpty(path: library.root, known: 3)) { try library.scan(catalogue) }
    #expect(try identifiers(catalogue) == before)
    for i in 0..<3 { #expect(rename("\(library.data)/\(i).jpg", "\(library.root)/\(i).jpg") == 0) }
    #expect(try library.scan(catalogue).probed == 0)
    #expect(try identifiers(catalogue) == before)
    for i in 0..<3 { unlink("\(library.root)/\(i).jpg") }
    #expect(try library.scan(catalogue, acceptingRemovals: true).removed == 3)
    #expect(try library.scan(catalogue) == ScanProgress(), "an empty library that is known to be empty")
  }

  @Test("another file system without the known files is not this library: nothing is read, nothing removed")
  func otherFileSystem() throws {
    let library = try TemporaryLibrary()
    for i in 0..<12 { try library.put(smallJPEG, "\(i).jpg") }
    let disks = Disks()
    let catalogue = try library.catalogue()
    try library.scan(catalogue, environment: disks.environment())
    let before = try identifiers(catalogue)
    let moved = library.root + "-on its disk"
    #expect(rename(library.root, moved) == 0)
    // Of the same name, but not the same file.
    try library.put(smallPNG, "3.jpg")
    try library.put(smallPNG, "stray.png")
    disks[""] = 2
    let refusal = AssetLibraryError.otherFileSystem(path: library.root)
    #expect(throws: refusal) { try library.scan(catalogue, removal: 100, environment: disks.environment()) }
    #expect(try identifiers(catalogue) == before)
    // Another folder on the same disk is not it either.
    disks[""] = 1
    #expect(throws: refusal) { try library.scan(catalogue, environment: disks.environment()) }
    #expect(try identifiers(catalogue) == before)
    // Said once, it is believed, and noted.
    let accepted = try library.scan(catalogue, acceptingRemovals: true, environment: disks.environment())
    #expect(accepted.removed == 11 && accepted.probed == 2)
    #expect(try library.scan(catalogue, environment: disks.environment()).files == 2)
  }

  @Test("another file system with known files is the same library on another disk, and is known from then on")
  func broughtToAnotherDisk() throws {
    let library = try TemporaryLibrary()
    for i in 0..<30 { try library.put(smallJPEG, "\(i).jpg") }
    let disks = Disks()
    let catalogue = try library.catalogue()
    try library.scan(catalogue, environment: disks.environment())
    let before = try identifiers(catalogue)
    disks[""] = 2
    // Files are missing too, but not all that are looked for: by share they may go.
    for i in 10..<20 { unlink("\(library.root)/\(i).jpg") }
    #expect(try library.scan(catalogue, environment: disks.environment()).removed == 10)
    #expect(try identifiers(catalogue) == before.filter { !$0.key.hasPrefix("1") || $0.key == "1.jpg" })
    // Now this is its disk. Without one known file it is another's.
    disks[""] = 1
    for i in 0..<30 where !(10..<20).contains(i) {
      #expect(rename("\(library.root)/\(i).jpg", "\(library.root)/away \(i).jpg") == 0)
    }
    #expect(throws: AssetLibraryError.otherFileSystem(path: library.root)) {
      try library.scan(catalogue, environment: disks.environment())
    }
    // On the noted one the files were merely renamed.
    disks[""] = 2
    #expect(try library.scan(catalogue, environment: disks.environment()).moved == 20)
  }

  @Test(
    "a disk below the root that is not mounted keeps what is known of it; the rest of the library goes on",
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
    // It comes back, as another device: nothing was lost, nothing has to be read.
    if how == "another disk is in its place" { #expect(rename(mountPoint, library.data + "/other") == 0) }
    rmdir(mountPoint)
    #expect(rename(disk, mountPoint) == 0)
    disks["disks/old"] = 9
    let back = try library.scan(catalogue, environment: disks.environment())
    #expect(back.missingMounts == 0 && back.kept == 0 && back.probed == 0 && back.removed == 0)
    // Gone for good, and said so.
    #expect(rename(mountPoint, disk) == 0)
    #expect(
      try library.scan(catalogue, acceptingRemovals: true, environment: disks.environment()).removed == 30)
    #expect(try library.scan(catalogue, environment: disks.environment()).missingMounts == 0)
  }

  @Test("a disk's folder that was copied into the library and unmounted is a folder like any other")
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

  @Test("a disk that goes while the library is scanned takes nothing along")
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
      // The walk comes to the folder before it.
      guard path == "a", isMounted.exchange(false, ordering: .relaxed) else { return }
      rename(root + "/b", root + "/../disk")
      mkdir(root + "/b", 0o700)
      disks["b"] = 1
    }
    #expect(throws: AssetLibraryError.mountsChanged) { try library.scan(catalogue, environment: environment) }
    #expect(try identifiers(catalogue) == before)
    let next = try library.scan(catalogue, environment: disks.environment())
    #expect(next.missingMounts == 1 && next.kept == 10 && next.removed == 0)
  }

  @Test("real file systems, mounted and unmounted", .enabled(if: TemporaryFileSystem.canMount))
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
    // The root itself is covered by an empty disk, then by one that has something else.
    let cover = try TemporaryFileSystem(at: library.root, bytes: 1 << 20)
    #expect(throws: AssetLibraryError.libraryIsEmpty(path: library.root, known: 11)) { try library.scan(catalogue) }
    try library.put(smallPNG, "other.png")
    #expect(throws: AssetLibraryError.otherFileSystem(path: library.root)) { try library.scan(catalogue) }
    #expect(try identifiers(catalogue) == before)
    cover.unmount()
    #expect(try library.scan(catalogue).kept == 10)
  }
}
