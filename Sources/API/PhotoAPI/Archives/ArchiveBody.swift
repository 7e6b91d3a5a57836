import HTTPCore
import PhotoModel
import Synchronization
import ZipFormat

#if canImport(Glibc)
  import Glibc
#endif

/// The bytes of an archive, or a range of them, produced while they are sent.
///
/// Files are read in pieces, changed by their overlays, and added to the CRC on the way. Each file is compared with the
/// plan when it is opened, and checked after each read: one that changed ends the transfer, and its plan is dropped, so
/// the next request gets another entity tag.
///
/// A file is *touched* if only its ctime has changed. Usually chmod or a new link is the cause, but its content may
/// also have been rewritten and its modification time restored. A touched file is sent if this transfer sends all of
/// it, if the bytes sent so far are still those of the file, and if no other transfer of the plan has sent the file
/// with another CRC. The plan is dropped in this case too.
final class ArchiveBody: BodySource {
  /// Maximum length of a piece that is read from a file, and of a segment. Until an archive has been sent, it reserves
  /// memory for several of them.
  static let pieceBytes: Int64 = 64 << 10
  /// Records of the central directory are sent in segments of about this length.
  private static let recordBytes = 16 << 10
  /// Maximum number of times that a transfer reads again the part of a file that it has sent.
  private static let maximumRereads = 16

  private let plan: ArchivePlan
  private let range: Range<Int64>
  private let files: OriginalFiles
  private let checksums: ChecksumCache
  private let plans: ArchivePlans
  /// Counts as a running archive while the body lives.
  private let permit: PermitPool.Permit
  /// Used by one call of ``next()`` at a time, which copies it: the lock is not held while files are read.
  private let state: Mutex<State>
  private let isCancelled = Atomic<Bool>(false)

  private struct State: Sendable {
    /// The next byte of the archive.
    var position: Int64
    var file: (index: Int, opened: ServableOriginal)?
    /// The CRC of the first `hashed` bytes of the file.
    var crc = CRC32()
    var hashed: Int64 = 0
    /// The CRCs of touched files.
    var touchedChecksums: [Int: UInt32] = [:]
    var rereads = 0
  }

  /// - Parameter range: within the archive.
  init(
    _ plan: ArchivePlan, _ range: Range<Int64>, files: OriginalFiles, checksums: ChecksumCache, plans: ArchivePlans,
    permit: PermitPool.Permit
  ) {
    self.plan = plan
    self.range = range
    self.files = files
    self.checksums = checksums
    self.plans = plans
    self.permit = permit
    state = Mutex(State(position: range.lowerBound))
  }

  var length: Int64 { Int64(range.count) }

  var memory: BodyMemory { BodyMemory(totalBytes: length, largestBytes: min(length, Self.pieceBytes)) }

  func next() throws(BodySourceError) -> BodySegment? {
    var current = state.withLock { $0 }
    guard current.position < range.upperBound else { return nil }
    let bytes: [UInt8]
    do throws(BodySourceError) {
      bytes = try segment(&current)
    } catch {
      if !isCancelled.load(ordering: .relaxed) { plans.drop(plan) }
      throw error
    }
    current.position += Int64(bytes.count)
    state.withLock { [current] in $0 = current }
    return .bytes(bytes)
  }

  /// Ends a running checksum of a long file.
  func cancel() { isCancelled.store(true, ordering: .relaxed) }

  /// The next bytes of the archive: never empty.
  private func segment(_ state: inout State) throws(BodySourceError) -> [UInt8] {
    let (part, place) = plan.layout.part(at: state.position)
    let first = state.position - place.lowerBound
    let end = min(place.upperBound, range.upperBound)
    func slice(_ bytes: [UInt8]) -> [UInt8] {
      Array(bytes[Int(first)..<Int(end - place.lowerBound)])
    }
    switch part {
    case .localHeader(let index): return slice(plan.layout.localHeader(index))
    case .content(let index): return try content(index, first..<end - place.lowerBound, &state)
    case .descriptor(let index):
      let crc = try checksum(index, &state)
      state.file = nil
      return slice(plan.layout.descriptor(index, crc: crc))
    case .record: return try records(&state)
    case .end: return slice(plan.layout.end)
    }
  }

  private func isErrorList(_ index: Int) -> Bool { index == plan.files.count }

  private func content(_ index: Int, _ range: Range<Int64>, _ state: inout State) throws(BodySourceError) -> [UInt8] {
    let end = min(range.upperBound, range.lowerBound + Self.pieceBytes)
    if isErrorList(index) { return Array(plan.errors[Int(range.lowerBound)..<Int(end)]) }
    let size = plan.layout.size(index)
    if state.file?.index != index {
      state.file = (index, try open(index, acceptsTouched: range == 0..<size))
      state.crc = CRC32()
      state.hashed = 0
    }
    guard let opened = state.file?.opened else { throw .fileChanged }
    let start = plan.files.resource(index).range.lowerBound
    let piece = start + range.lowerBound..<start + end
    let bytes: [UInt8]
    do throws(BodySourceError) {
      bytes = try read(opened, piece)
    } catch {
      guard case .fileChanged = error, state.hashed == range.lowerBound, range.upperBound == size else { throw error }
      bytes = try read(reopen(index, opened, &state), piece)
    }
    if state.hashed == range.lowerBound {
      state.crc.update(bytes)
      state.hashed = end
      if end == size { try keepChecksum(index, &state) }
    }
    return bytes
  }

  /// Opens a file again that was touched during the transfer. The bytes sent so far must still be those of the file.
  private func reopen(
    _ index: Int, _ opened: ServableOriginal, _ state: inout State
  ) throws(BodySourceError) -> ServableOriginal {
    let again = try open(index, acceptsTouched: true)
    let isTouched = files.changeTimeNanoseconds(of: again) != files.changeTimeNanoseconds(of: opened)
    guard isTouched, state.rereads < Self.maximumRereads else { throw .fileChanged }
    state.rereads += 1
    let start = plan.files.resource(index).range.lowerBound
    let crc = try checksum(of: again, start..<start + state.hashed)
    guard crc == state.crc.value else { throw .fileChanged }
    state.file = (index, again)
    return again
  }

  /// - Parameter acceptsTouched: whether the file may be touched.
  private func open(_ index: Int, acceptsTouched: Bool = false) throws(BodySourceError) -> ServableOriginal {
    let opened: ServableOriginal
    do throws(OriginalFiles.Failure) {
      opened = try files.open(plan.files.resource(index), includesLocation: plan.includesLocation)
    } catch {
      switch error {
      case .notOpened(.failed(let cause)): throw .readFailed(code: cause.code)
      case .placesRemain(.readFailed(let code)): throw .readFailed(code: code)
      case .notOpened, .placesRemain: throw .fileChanged
      }
    }
    if isTouched(opened, index) {
      guard acceptsTouched else { throw .fileChanged }
      plans.drop(plan)
    }
    return opened
  }

  private func isTouched(_ opened: ServableOriginal, _ index: Int) -> Bool {
    files.changeTimeNanoseconds(of: opened) != plan.files.changeTimeNanoseconds(index)
  }

  private func read(
    _ opened: ServableOriginal, _ range: Range<Int64>
  ) throws(BodySourceError) -> [UInt8] {
    var bytes: [UInt8]
    do throws(ByteSourceError) {
      bytes = try opened.source.bytes(at: range.lowerBound, count: range.count)
    } catch {
      switch error {
      case .readFailed(let code): throw .readFailed(code: code)
      }
    }
    guard bytes.count == range.count, files.isUnchanged(opened) else { throw .fileChanged }
    opened.overlay.apply(to: &bytes, at: range.lowerBound)
    return bytes
  }

  // MARK: Checksums

  private func checksumKey(_ index: Int) -> ChecksumCache.Key {
    let resource = plan.files.resource(index)
    return ChecksumCache.Key(
      identity: resource.file.identity, changeTimeNanoseconds: plan.files.changeTimeNanoseconds(index),
      slice: resource.slice, includesLocation: plan.includesLocation)
  }

  /// The CRC of an entry: of the bytes just sent, from `checksums`, or by reading the file.
  private func checksum(_ index: Int, _ state: inout State) throws(BodySourceError) -> UInt32 {
    if isErrorList(index) { return CRC32(plan.errors).value }
    let size = plan.layout.size(index)
    let key = checksumKey(index)
    if state.file?.index == index, state.hashed == size { return state.crc.value }
    if let known = state.touchedChecksums[index] ?? checksums.value(key) { return known }
    let crc = try checksum(of: open(index), plan.files.resource(index).range)
    checksums.keep(crc, key)
    return crc
  }

  /// The CRC of a range of a file, by reading it.
  private func checksum(
    of opened: ServableOriginal, _ range: Range<Int64>
  ) throws(BodySourceError) -> UInt32 {
    var crc = CRC32()
    var position = range.lowerBound
    while position < range.upperBound {
      if isCancelled.load(ordering: .relaxed) { throw .readFailed(code: ECANCELED) }
      let end = min(range.upperBound, position + Self.pieceBytes)
      crc.update(try read(opened, position..<end))
      position = end
    }
    return crc.value
  }

  /// Keeps the CRC of the open file, all of which was read. Other transfers of the plan use it only if the file has the
  /// ctime of the plan.
  private func keepChecksum(_ index: Int, _ state: inout State) throws(BodySourceError) {
    let crc = state.crc.value
    guard let opened = state.file?.opened, isTouched(opened, index) else {
      return checksums.keep(crc, checksumKey(index))
    }
    if let former = checksums.value(checksumKey(index)), former != crc { throw .fileChanged }
    state.touchedChecksums[index] = crc
  }

  /// Records of the central directory. Ends the segment after a record whose file had to be read.
  private func records(_ state: inout State) throws(BodySourceError) -> [UInt8] {
    var bytes: [UInt8] = []
    var position = state.position
    while position < range.upperBound, bytes.count < Self.recordBytes {
      guard case (.record(let index), let place) = plan.layout.part(at: position) else { break }
      let isKnown =
        isErrorList(index) || state.touchedChecksums[index] != nil || checksums.value(checksumKey(index)) != nil
      if !isKnown, !bytes.isEmpty { break }
      let record = plan.layout.record(index, crc: try checksum(index, &state))
      let end = min(place.upperBound, range.upperBound)
      bytes += record[Int(position - place.lowerBound)..<Int(end - place.lowerBound)]
      position = end
    }
    return bytes
  }
}
