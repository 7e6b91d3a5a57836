import Foundation
import PhotoFixtures
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// `photod scan`, killed again and again while it writes.
@Suite("Killing a scan", .blocking, .serialized)
struct KillTests {
  private static let kills = Sampling.count(15, thorough: 40)
  private static let files = 300

  @Test("after kills at random moments the catalogue is intact, and the next scan completes it")
  func kills() throws {
    let folders = try TestDaemon.Folders()
    defer { withExtendedLifetime(folders) {} }
    let (base, library, data) = (folders.base, folders.library, folders.data)
    let files = TestDaemon.Files(root: library)
    var numbers = Sampling.generator("kills of a scan")
    var names: [String] = []
    var count = 0
    let picture = JPEGFile { _ in }.encoded(Pixels.orientationCard(width: 32, height: 24))
    func add() throws {
      count += 1
      let name = "\(count % 5)/\(count).jpg"
      // Each picture is different.
      try files.put(picture + Array("\(count)".utf8), name)
      names.append(name)
    }
    while names.count < Self.files { try add() }

    try FileManager.default.createDirectory(atPath: base + "/gone", withIntermediateDirectories: true)
    /// What a library goes through between two scans: some files change, others are renamed, some go, some come. None
    /// is both changed and renamed, for that is another picture to anybody.
    func change() throws {
      for index in names.indices where Int.random(in: 0..<3, using: &numbers) > 0 {
        let name = names[index]
        let number = try #require(Int(name.split(separator: "/")[1].prefix { $0.isNumber }))
        if number % 2 == 0 {
          let suffix = String(numbers.next() % 1000)
          names[index] = "\(numbers.next() % 5)/\(number)-\(suffix).jpg"
          #expect(rename("\(library)/\(name)", "\(library)/\(names[index])") == 0)
        } else {
          // Another picture under the same name, in the same file.
          let handle = try #require(FileHandle(forWritingAtPath: "\(library)/\(name)"))
          try handle.truncate(atOffset: 0)
          handle.write(Data(picture + Array("\(name) \(numbers.next())".utf8)))
          try handle.close()
        }
      }
      for _ in 0..<5 {
        // Its inode stays taken, so that no other file gets it.
        let name = names.remove(at: Int.random(in: names.indices, using: &numbers))
        #expect(rename("\(library)/\(name)", "\(base)/gone/\(numbers.next())") == 0)
      }
      for _ in 0..<5 { try add() }
    }

    // How long a scan takes here and now, from its start to its end.
    let start = ContinuousClock.now
    let first = try KilledProcess(["scan", "--library", library, "--data", base + "/measured"])
    #expect(first.end() == 0)
    var longest = max(Int((ContinuousClock.now - start) / .milliseconds(1)) * 3 / 2, 2)

    var (killed, ended) = (0, 0)
    var seen: [Int64: String] = [:]
    while killed < Self.kills && ended < 10 * Self.kills {
      let scan = try KilledProcess(["scan", "--library", library, "--data", data])
      if let status = scan.end(killingAfter: Int.random(in: 1...longest, using: &numbers)) {
        #expect(status == 0)
        ended += 1
        // There is less to do than in the first scan.
        longest = max(longest * 9 / 10, 2)
        try change()
        continue
      }
      killed += 1
      // A busy machine may be slower than it was at first: a part of the scans should end.
      longest = longest * 11 / 10 + 1
      if killed % 3 == 0 { try change() }
      guard FileManager.default.fileExists(atPath: data + "/catalogue.sqlite") else { continue }
      let state = try CatalogueIntegrity(data, "kill \(killed), \(Sampling.note)")
      for (inode, identifier) in state.identifiers { seen[inode] = seen[inode] ?? identifier }
    }
    #expect(killed == Self.kills)
    print("killed \(killed) scans; \(ended) ended before their moment came")

    #expect(try KilledProcess(["scan", "--library", library, "--data", data]).end() == 0)
    let last = try CatalogueIntegrity(data, "at the end, \(Sampling.note)")
    #expect(last.paths == Set(names) && last.identifiers.count == names.count, "\(Sampling.note)")
    var kept = 0
    for name in names {
      var status = stat()
      #expect(stat("\(library)/\(name)", &status) == 0)
      let inode = Int64(bitPattern: UInt64(status.st_ino))
      guard let before = seen[inode] else { continue }
      kept += 1
      #expect(last.identifiers[inode] == before, "\(name), \(Sampling.note)")
    }
    #expect(kept > Self.files / 2, "most files are compared")
    // And nothing is left to do.
    let check = try TestDaemon.run(["check", "--library", library, "--data", data])
    #expect(check.status == 0 && check.output.hasSuffix("no difference\n"), "\(check.output)")
  }
}
