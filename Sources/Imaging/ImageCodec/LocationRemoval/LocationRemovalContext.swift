import MediaMetadata
import PhotoModel

/// The state of a walk over a file's containers: reading, the patches so far, and the limits. All positions count from
/// the start of the whole file, also inside of an inner file.
struct LocationRemovalContext {
  /// For walks that have a reader of their own, such as those over boxes and directories.
  var reader: HeaderReader
  let limits: LocationRemovalLimits
  /// The facts to remove.
  let facts: PrivateFacts
  let fileSize: Int64
  private var patches: [ByteOverlay.Patch] = []
  /// Structure that must not change.
  private var kept: [Range<Int64>] = []
  /// Bytes of items and samples, and what they were examined as.
  private var claims: [(range: Range<Int64>, kind: FourCC)] = []
  private var patchBytes = 0
  private var metadataBytes = 0
  private var structures = 0
  private var depth = 0
  /// The positions of embedded pictures that were examined: several indexes may name one.
  private var examinedPictures: Set<Int64> = []

  init(_ source: any ByteSource, removing facts: PrivateFacts, limits: LocationRemovalLimits) {
    self.facts = facts
    reader = HeaderReader(source: source)
    reader.windowBytes = ContainerLimits.windowBytes
    self.limits = limits
    fileSize = source.size
  }

  /// Whether the file itself is examined, not one inside of it.
  var isOutermost: Bool { depth <= 1 }

  /// The result.
  func overlay() throws(LocationRemovalError) -> ByteOverlay {
    try checkClaims()
    let overlay: ByteOverlay
    do throws(ByteOverlay.Failure) {
      overlay = try ByteOverlay(patches, limit: limits.patchBytes)
    } catch {
      switch error {
      case .conflict(let offset): throw .overlap(offset: offset)
      case .tooLarge(let limit, let found):
        throw .limitExceeded("the number of bytes that are replaced", limit: limit, found: found)
      }
    }
    if let range = kept.first(where: { overlay.changes($0) }) { throw .overlap(offset: range.lowerBound) }
    return overlay
  }

  // MARK: Reading

  /// The first bytes of a range: up to `count`, fewer only if the range or the file ends. For structure, not for
  /// blocks.
  mutating func head(of range: Range<Int64>, count: Int) throws(LocationRemovalError) -> ArraySlice<UInt8> {
    let count = min(count, Int(clamping: range.upperBound - range.lowerBound))
    do throws(CodecError) {
      return try reader.bytes(at: range.lowerBound, count: max(0, count))
    } catch {
      throw LocationRemovalError(error)
    }
  }

  /// All bytes of a metadata block, which count towards the limits.
  ///
  /// - Throws: `malformed` if the block extends beyond the file.
  mutating func block(_ range: Range<Int64>) throws(LocationRemovalError) -> ArraySlice<UInt8> {
    let length = Int(clamping: range.upperBound - range.lowerBound)
    guard length <= limits.blockBytes else {
      throw .limitExceeded("the size of a metadata block", limit: limits.blockBytes, found: length)
    }
    metadataBytes += length
    if metadataBytes > limits.metadataBytes {
      throw .limitExceeded("the size of all metadata", limit: limits.metadataBytes, found: metadataBytes)
    }
    let bytes = try head(of: range, count: length)
    guard bytes.count == length else {
      throw .malformed("a metadata block that ends after the file", offset: range.lowerBound)
    }
    return bytes
  }

  /// Counts a segment, chunk, box or directory.
  mutating func countStructure() throws(LocationRemovalError) {
    structures += 1
    if structures > limits.structures {
      throw .limitExceeded("the number of structures", limit: limits.structures, found: structures)
    }
  }

  /// Examines a file inside of this one.
  mutating func nested(
    _ body: (inout LocationRemovalContext) throws(LocationRemovalError) -> Void
  ) throws(LocationRemovalError) {
    depth += 1
    guard depth <= limits.depth else {
      throw .limitExceeded("the depth of files inside of files", limit: limits.depth, found: depth)
    }
    try body(&self)
    depth -= 1
  }

  // MARK: Replacing

  /// Replaces bytes of the file. The caller leaves out bytes that are equal already.
  mutating func replace(at offset: Int64, with bytes: [UInt8]) throws(LocationRemovalError) {
    guard offset >= 0, Int64(bytes.count) <= fileSize - offset else {
      throw .malformed("bytes to replace that end after the file", offset: offset)
    }
    try add(ByteOverlay.Patch(offset: offset, bytes: bytes))
  }

  private mutating func add(_ patch: ByteOverlay.Patch) throws(LocationRemovalError) {
    patchBytes += patch.storedBytes
    // Equal patches may come twice, so this is looser than the limit of the overlay.
    if patchBytes > 2 * limits.patchBytes {
      throw .limitExceeded("the number of bytes that are replaced", limit: limits.patchBytes, found: patchBytes)
    }
    patches.append(patch)
  }

  /// Notes that bytes of a container's structure must not be replaced: a damaged file may name them as a block.
  mutating func keep(_ range: Range<Int64>) { kept.append(range) }

  /// Notes that bytes were examined as one item. Where another one shares some of them, removing the locations in one
  /// could damage the other; only the same item may be named twice.
  mutating func claim(_ range: Range<Int64>, as kind: FourCC) { claims.append((range, kind)) }

  private func checkClaims() throws(LocationRemovalError) {
    let sorted = claims.sorted {
      ($0.range.lowerBound, $0.range.upperBound) < ($1.range.lowerBound, $1.range.upperBound)
    }
    for (claim, next) in zip(sorted, sorted.dropFirst()) where claim.range.overlaps(next.range) {
      guard claim.range == next.range, claim.kind == next.kind else { throw .overlap(offset: next.range.lowerBound) }
    }
  }

  /// Replaces bytes of a block whose first byte is at `start`.
  mutating func replace(_ patches: [BlockPatch], in start: Int64) throws(LocationRemovalError) {
    for patch in patches { try replace(at: start + Int64(patch.offset), with: patch.bytes) }
  }

  /// Replaces a metadata block by zeros, except where it holds zeros already.
  mutating func zero(_ range: Range<Int64>) throws(LocationRemovalError) {
    let old = try block(range)
    try zero(old, at: range.lowerBound)
  }

  /// Replaces a metadata block that was read, from its first byte that is not zero to its last one.
  mutating func zero(_ block: ArraySlice<UInt8>, at offset: Int64) throws(LocationRemovalError) {
    guard let first = block.firstIndex(where: { $0 != 0 }), let last = block.lastIndex(where: { $0 != 0 }) else {
      return
    }
    let start = offset + Int64(first - block.startIndex)
    try add(ByteOverlay.Patch(zeros: start..<start + Int64(last - first) + 1))
  }

  // MARK: Metadata blocks

  /// Removes the locations in an EXIF block, in its maker note, and in the pictures in it.
  ///
  /// - Parameter range: from the TIFF header.
  mutating func removeEXIF(in range: Range<Int64>) throws(LocationRemovalError) {
    try removeDirectories(in: range)
  }

  /// Removes the locations in embedded JPEGs. One that ends early has been examined as far as it goes.
  ///
  /// - Parameter start: the position in the file from which the ranges count.
  mutating func removePictures(_ pictures: [Range<Int>], in start: Int64) throws(LocationRemovalError) {
    for picture in pictures {
      try removePicture(in: start + Int64(picture.lowerBound)..<start + Int64(picture.upperBound))
    }
  }

  /// Removes the locations in an embedded picture, once.
  mutating func removePicture(in range: Range<Int64>) throws(LocationRemovalError) {
    guard examinedPictures.insert(range.lowerBound).inserted else { return }
    try LocationRemoval.remove(from: range, &self)
  }

  /// The overlay of a file inside of this one that is in memory, under the same limits.
  mutating func overlay(ofInner file: [UInt8]) throws(LocationRemovalError) -> ByteOverlay {
    var overlay = ByteOverlay()
    let (limits, facts) = (limits, facts)
    try nested { context throws(LocationRemovalError) in
      var inner = LocationRemovalContext(MemoryByteSource(file), removing: facts, limits: limits)
      inner.depth = context.depth
      try LocationRemoval.remove(from: 0..<Int64(file.count), &inner)
      overlay = try inner.overlay()
    }
    return overlay
  }

  /// Refuses bytes of which nothing is known if they may be a file or a block with metadata. Both ends are examined.
  ///
  /// - Parameter noun: for the error: "data after a PNG".
  mutating func checkUnknown(_ range: Range<Int64>, _ noun: String) throws(LocationRemovalError) {
    let length = Int64(Self.searchedBytes)
    let first = Array(try head(of: range, count: Self.searchedBytes))
    let lastStart = max(range.lowerBound, range.upperBound - length)
    let last =
      lastStart < range.upperBound ? Array(try head(of: lastStart..<range.upperBound, count: Self.searchedBytes)) : []
    for bytes in [first, last] where Self.signatures.contains(where: { Self.find($0, in: bytes) }) {
      throw .unsupported(noun)
    }
  }

  private static let searchedBytes = 65_536

  /// Starts of files and blocks: EXIF, XMP, Photoshop's resources, JPEG, TIFF, movies, Samsung's trailer.
  private static let signatures: [[UInt8]] =
    ["Exif\0\0", "http://ns.adobe.com/", "<x:xmpmeta", "<rdf:RDF", "8BIM", "ftyp", "SEFT", "II*\0", "MM\0*"].map {
      Array($0.utf8)
    } + [[0xFF, 0xD8, 0xFF]]

  /// Whether a sequence occurs in bytes.
  static func find(_ wanted: [UInt8], in bytes: [UInt8]) -> Bool {
    guard let first = wanted.first else { return true }
    var position = 0
    while let start = bytes[position...].firstIndex(of: first) {
      if bytes[start...].starts(with: wanted) { return true }
      position = start + 1
    }
    return false
  }

  /// Removes the locations in an XMP packet. Parts of an extended packet are not packets.
  mutating func removeXMP(in range: Range<Int64>) throws(LocationRemovalError) {
    let block = try block(range)
    let facts = facts
    try replace(
      shifted(range.lowerBound) { () throws(LocationRemovalError) in try LocationBlocks.xmp(block, removing: facts) },
      in: range.lowerBound)
  }

  /// Removes the locations in IPTC datasets.
  mutating func removeIPTC(in range: Range<Int64>) throws(LocationRemovalError) {
    let block = try block(range)
    try replace(
      shifted(range.lowerBound) { () throws(LocationRemovalError) in try LocationBlocks.iptc(block) },
      in: range.lowerBound)
  }

  /// Errors of a block count their offsets from its first byte.
  func shifted<Result>(
    _ start: Int64, _ body: () throws(LocationRemovalError) -> Result
  ) throws(LocationRemovalError) -> Result {
    do throws(LocationRemovalError) {
      return try body()
    } catch {
      throw error.shifted(by: start)
    }
  }
}

extension LocationRemovalError {
  /// An error of the readers that are shared with the header of a file.
  init(_ error: CodecError) {
    switch error {
    case .malformed(let what, let offset): self = .malformed(what, offset: offset ?? 0)
    case .unsupported(let what): self = .unsupported(what)
    case .limitExceeded(let name, let limit, let found): self = .limitExceeded(name, limit: limit, found: found)
    case .truncated(let offset): self = .malformed("a file that ends too early", offset: offset)
    case .readFailed(let code): self = .readFailed(code: code)
    case .outOfMemory, .encodingFailed, .stopped, .decoderUnavailable, .decoderFailed, .decoderInterrupted,
      .encoderUnavailable, .encoderInterrupted, .outputTooLarge:
      preconditionFailure("\(error) while reading metadata")
    }
  }
}
