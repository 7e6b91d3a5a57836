// Finds damage in SQLite's write-ahead log (https://www.sqlite.org/fileformat2.html#walformat). SQLite takes the first
// frame with a wrong checksum for the end of the log, because a power failure leaves an unfinished commit there, and
// drops all commits after that frame without an error. But photod syncs each commit before it writes the next one, so
// two commits after such a frame mean that at least one confirmed change is lost. If the header is damaged, SQLite
// ignores the whole log.
//
// Damage in the last commit can't be distinguished from an unfinished commit. A power failure may leave any sector of
// its frames unwritten, also one inside a page whose frame header and later frames are complete, and the old bytes may
// differ from the new ones by a single bit. The log does not record whether its sync returned. SQLite's index of the
// log (-shm) names the last synced frame, but is no help: it is not synced itself, every program that opens the
// catalogue rebuilds it, and reading the file beside an open connection would release SQLite's locks of this process.

import DurableFiles
import Foundation
import PhotoModel

#if canImport(Glibc)
  import Glibc
#endif

enum WriteAheadLog {
  /// Whether the log beside a database has a damaged frame with confirmed changes after it. Reads the whole log, also
  /// while another process writes to it. Does not open the database.
  static func isDamaged(beside path: String) -> Bool {
    let descriptor = open(path + "-wal", O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    guard let frame = damagedFrame(descriptor) else { return false }
    // A commit of another process while the log was read looks the same, but only once.
    return damagedFrame(descriptor) == frame
  }

  /// Whether a copy that `copyIfDamaged` made is still beside a database.
  static func hasCopy(of path: String) -> Bool {
    let copy = URL(filePath: copyName(of: path))
    let folder = copy.deletingLastPathComponent().path
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return names.contains { $0.hasPrefix(copy.lastPathComponent) && $0.hasSuffix(".sqlite") }
  }

  /// Copies a database and its log, if the log is damaged: opening the database drops what follows the damage. If an
  /// earlier opening copied the same log and then failed, that copy stays the only one.
  ///
  /// - Returns: the path of the copy; `nil` if the log is not damaged.
  static func copyIfDamaged(_ path: String) throws -> String? {
    guard isDamaged(beside: path) else { return nil }
    let name = copyName(of: path)
    var copy = name + ".sqlite"
    var number = 2
    while ["", "-wal"].contains(where: { access(copy + $0, F_OK) == 0 }) {
      let isComplete = access(copy, F_OK) == 0
      if isComplete, FileManager.default.contentsEqual(atPath: path + "-wal", andPath: copy + "-wal") { return copy }
      copy = "\(name)-\(number).sqlite"
      number += 1
    }
    let unfinished = copy + ".partial"
    unlink(unfinished)
    for (source, target) in [(path + "-wal", copy + "-wal"), (path, unfinished)] {
      try FileManager.default.copyItem(atPath: source, toPath: target)
      chmod(target, 0o600)
      FileOwner.inherit(target)
    }
    try DurableFile.rename(unfinished, to: copy)
    return copy
  }

  /// The path of a copy, without its number and extension.
  private static func copyName(of path: String) -> String { "\(path.dropLast(".sqlite".count)).before-loss" }

  private static let headerLength = 32
  private static let frameHeaderLength = 24
  private static let saltLength = 8

  /// The number of the first frame that is not valid, if two commits of the same log follow or include it. 0 if the
  /// header is not valid: SQLite then reads no frame.
  private static func damagedFrame(_ descriptor: Int32) -> Int? {
    guard let header = read(headerLength, at: 0, descriptor) else { return nil }
    let written = Format(ofHeader: header)
    guard let format = written ?? formatOfFrames(descriptor) else { return nil }
    var sum = format.sum
    let salt = format.salt
    let frameLength = frameHeaderLength + format.pageLength
    var damaged: Int? = written == nil ? 0 : nil
    var commits = 0
    var number = 0
    while let frame = read(frameLength, at: headerLength + number * frameLength, descriptor) {
      // The rest of a former log has another salt.
      let isOfThisLog = frame[8..<(8 + saltLength)].elementsEqual(salt)
      if damaged == nil {
        sum.add(frame[0..<8])
        sum.add(frame[frameHeaderLength...])
        let isValid = isOfThisLog && word(frame, 0) != 0 && sum.isStored(in: frame, at: 16)
        if !isValid { damaged = number }
      }
      // The last frame of a commit has the size of the database.
      if damaged != nil && isOfThisLog && word(frame, 4) != 0 { commits += 1 }
      number += 1
    }
    // The header differs if another process has restarted the log since.
    guard commits >= 2, read(headerLength, at: 0, descriptor) == header else { return nil }
    return damaged
  }

  /// The properties that all frames of a log share, and the checksum before the first frame.
  private struct Format {
    let pageLength: Int
    let salt: [UInt8]
    let sum: Checksum

    init(pageLength: Int, salt: [UInt8], sum: Checksum) {
      self.pageLength = pageLength
      self.salt = salt
      self.sum = sum
    }

    /// `nil` if the header is not valid.
    init?(ofHeader header: [UInt8]) {
      let magic = WriteAheadLog.word(header, 0)
      let pageLength = Int(WriteAheadLog.word(header, 8))
      guard magic & ~1 == 0x377F_0682, WriteAheadLog.pageLengths.contains(pageLength) else { return nil }
      var sum = Checksum(isBigEndian: magic & 1 == 1)
      sum.add(header[0..<24])
      guard sum.isStored(in: header, at: 24) else { return nil }
      self.init(pageLength: pageLength, salt: Array(header[16..<(16 + WriteAheadLog.saltLength)]), sum: sum)
    }
  }

  private static let pageLengths = [512, 1024, 2048, 4096, 8192, 16384, 32768, 65536]

  /// The format according to the first two frames, for a log whose header is damaged. The checksum of the second frame
  /// continues that of the first one, so zeros and the bytes of other files are not taken for a log. Tries each page
  /// length: the database has it, but must not be opened here, because closing it would release SQLite's locks of this
  /// process.
  private static func formatOfFrames(_ descriptor: Int32) -> Format? {
    for pageLength in pageLengths {
      let length = frameHeaderLength + pageLength
      guard let first = read(length, at: headerLength, descriptor),
        let second = read(length, at: headerLength + length, descriptor)
      else { return nil }
      let salt = Array(first[8..<(8 + saltLength)])
      guard word(second, 0) != 0, second[8..<(8 + saltLength)].elementsEqual(salt) else { continue }
      for isBigEndian in [false, true] {
        var sum = Checksum(isBigEndian: isBigEndian, storedIn: first, at: 16)
        sum.add(second[0..<8])
        sum.add(second[frameHeaderLength...])
        if sum.isStored(in: second, at: 16) { return Format(pageLength: pageLength, salt: salt, sum: sum) }
      }
    }
    return nil
  }

  /// The cumulative checksum of the log: its header, and then the header and page of each frame.
  private struct Checksum {
    let isBigEndian: Bool
    private var sums: (UInt32, UInt32) = (0, 0)

    init(isBigEndian: Bool) { self.isBigEndian = isBigEndian }

    /// Continues the checksum of a frame.
    init(isBigEndian: Bool, storedIn bytes: [UInt8], at offset: Int) {
      self.isBigEndian = isBigEndian
      sums = (WriteAheadLog.word(bytes, offset), WriteAheadLog.word(bytes, offset + 4))
    }

    /// - Parameter bytes: their number is a multiple of 8.
    mutating func add(_ bytes: ArraySlice<UInt8>) {
      var (first, second) = sums
      bytes.withUnsafeBytes { bytes in
        for offset in stride(from: 0, to: bytes.count, by: 8) {
          let left = bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
          let right = bytes.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self)
          first &+= (isBigEndian ? UInt32(bigEndian: left) : UInt32(littleEndian: left)) &+ second
          second &+= (isBigEndian ? UInt32(bigEndian: right) : UInt32(littleEndian: right)) &+ first
        }
      }
      sums = (first, second)
    }

    func isStored(in bytes: [UInt8], at offset: Int) -> Bool {
      WriteAheadLog.word(bytes, offset) == sums.0 && WriteAheadLog.word(bytes, offset + 4) == sums.1
    }
  }

  private static func word(_ bytes: [UInt8], _ offset: Int) -> UInt32 {
    UInt32(bigEndian: bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: UInt32.self) })
  }

  /// Bytes of the log; `nil` after its end, or if it can't be read.
  private static func read(_ length: Int, at offset: Int, _ descriptor: Int32) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: length)
    let count = bytes.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, off_t(offset)) }
    return count == length ? bytes : nil
  }
}
