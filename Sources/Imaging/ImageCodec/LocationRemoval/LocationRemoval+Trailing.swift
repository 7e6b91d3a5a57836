import MediaMetadata

extension LocationRemoval {
  /// The end of Insta360's records, which hold positions.
  private static let insta360 = Array("8db42d694ccc418790edff439fe026bf".utf8)
  /// Bytes that begin metadata.
  private static let signatures: [[UInt8]] = [
    Array("Exif\0\0".utf8), [0x49, 0x49, 42, 0], [0x4D, 0x4D, 0, 42], Array("http://ns.adobe.com/".utf8),
    Array("<x:xmpmeta".utf8), Array("<?xpacket".utf8), Array("Photoshop 3.0".utf8), Array("8BIM".utf8),
    Array("ftyp".utf8), Array("moov".utf8), Array("Latitude".utf8), Array("latitude".utf8), insta360,
  ]

  /// Removes the locations in bytes that follow the end of a file: other files, a trailer of Samsung's, padding.
  ///
  /// - Throws: `unsupported` for bytes of another kind that hold metadata.
  static func trailing(
    _ range: Range<Int64>, _ context: inout LocationRemovalContext
  ) throws(LocationRemovalError) {
    var range = range
    while true {
      try context.countStructure()
      if try isPadding(range, &context) { return }
      while let block = try paddingHead(of: range, &context) {
        range = range.lowerBound + Int64(block)..<range.upperBound
      }
      if range.isEmpty { return }
      if let samsung = try samsungEnd(of: range, &context) {
        return try samsungTrailer(range.lowerBound..<samsung, &context)
      }
      let head = try context.head(of: range, count: FileType.bytes)
      guard let format = MediaFormat(firstBytes: head), !format.hasShortSignature else { break }
      // Another file may follow a picture, as the movie follows the gain map of a motion photo.
      let end = format == .jpeg ? try endOfJPEG(range, &context) : range.upperBound
      try remove(from: range.lowerBound..<end, &context)
      if end >= range.upperBound { return }
      range = end..<range.upperBound
    }
    if holdsMetadata(Array(try context.block(range))) {
      throw .unsupported("the metadata after the end of a file")
    }
  }

  /// Whether bytes of an unknown structure contain the start of a metadata block, or of a file that has some.
  static func holdsMetadata(_ bytes: [UInt8]) -> Bool {
    signatures.contains { LocationRemovalContext.find($0, in: bytes) }
  }

  /// The end of a picture that begins at the start of a range.
  private static func endOfJPEG(
    _ range: Range<Int64>, _ context: inout LocationRemovalContext
  ) throws(LocationRemovalError) -> Int64 {
    // Segments before the first scan are walked like segments between scans.
    try endOfPicture(from: range.lowerBound + 2, before: range.upperBound, &context) ?? range.upperBound
  }

  /// Whether a range is padding: it begins and ends with many zeros; the middle is not read.
  private static func isPadding(
    _ range: Range<Int64>, _ context: inout LocationRemovalContext
  ) throws(LocationRemovalError) -> Bool {
    let length = 1 << 16
    guard range.count > 2 * length else { return false }
    guard try context.head(of: range, count: length).allSatisfy({ $0 == 0 }) else { return false }
    return try context.head(of: range.upperBound - Int64(length)..<range.upperBound, count: length)
      .allSatisfy { $0 == 0 }
  }

  /// The number of zeros at the start of a range; `nil` if there are none.
  private static func paddingHead(
    of range: Range<Int64>, _ context: inout LocationRemovalContext
  ) throws(LocationRemovalError) -> Int? {
    let bytes = try context.head(of: range, count: 1 << 16)
    let zeros = bytes.prefix { $0 == 0 }.count
    // The size of a box begins with zeros too.
    let padding = zeros == bytes.count ? zeros : zeros / 4 * 4
    guard padding > 0 else { return nil }
    try context.countStructure()
    return padding
  }

  /// The end of Samsung's trailer, if a range ends with one: its signature is the last thing in the file.
  private static func samsungEnd(
    of range: Range<Int64>, _ context: inout LocationRemovalContext
  ) throws(LocationRemovalError) -> Int64? {
    let start = max(range.lowerBound, range.upperBound - 4)
    let end = try context.head(of: start..<range.upperBound, count: 4)
    return end.elementsEqual(Array("SEFT".utf8)) ? range.upperBound : nil
  }

  /// The start of Samsung's trailer, if a range ends with one.
  static func samsungStart(
    of range: Range<Int64>, _ context: inout LocationRemovalContext
  ) throws(LocationRemovalError) -> Int64? {
    guard let end = try samsungEnd(of: range, &context) else { return nil }
    return try samsungBlocks(of: range.lowerBound..<end, &context).start
  }

  /// The names of blocks of Samsung's trailer without locations: how the picture was taken and is shown.
  private static let harmlessSamsungBlocks: Set<String> = [
    "Image_UTC_Data", "MotionPhoto_Data", "MotionPhoto_Version", "MotionPhoto_AutoPlay", "SoundShot_Meta_Info",
    "SoundShot_000", "Panorama_Shot_Info", "Interactive_Panorama_Info", "Motion_Panorama_Info",
    "Front_Cam_Selfie_Info", "Burst_Shot_Info", "DualShot_Meta_Info", "DualShot_Extra_Info", "ZoomInOut_Info",
    "Original_Path_Hash_Key", "Jpeg360_2D_Info", "Color_Display_P3", "Camera_Capture_Mode_Info", "Watermark_Info",
    "BackupRestore_Data", "SlowMotion_Data", "Camera_Scene_Info", "FocusShot_Meta_Info", "FocusShot_1", "FocusShot_2",
    "DualShot_1", "DualShot_2", "DualShot_DepthMap_1", "DualShot_Core_Info", "DualShot_Only_Info",
    "VirtualTour_Info", "Burst_Shot_Best_Info", "Samsung_Capture_Info", "FRONT_CAM_SELFIE_INFO",
  ]

  /// Samsung's trailer: named blocks, a directory of their positions, its length, a signature. Pictures and movies in
  /// it are examined; blocks of a kind that is not known become zeros, as does the code of the country.
  ///
  /// - Parameter range: ends with the signature.
  static func samsungTrailer(
    _ range: Range<Int64>, _ context: inout LocationRemovalContext
  ) throws(LocationRemovalError) {
    let (blocks, first) = try samsungBlocks(of: range, &context)
    for block in blocks { try samsungBlock(block, &context) }
    // Bytes before the blocks belong to the file, not to the trailer.
    guard first > range.lowerBound else { return }
    try context.nested { context throws(LocationRemovalError) in
      try trailing(range.lowerBound..<first, &context)
    }
  }

  /// The blocks of Samsung's trailer, and where the trailer starts.
  ///
  /// - Parameter range: ends with the signature.
  static func samsungBlocks(
    of range: Range<Int64>, _ context: inout LocationRemovalContext
  ) throws(LocationRemovalError) -> (blocks: [Range<Int64>], start: Int64) {
    let end = range.upperBound - 8
    guard end >= range.lowerBound else { throw .malformed("a trailer that ends too early", offset: range.lowerBound) }
    let tail = try context.head(of: end..<range.upperBound, count: 8)
    guard tail.count == 8, tail.dropFirst(4).elementsEqual(Array("SEFT".utf8)) else {
      throw .malformed("a trailer without its signature", offset: end)
    }
    let directory = end - Int64(tail.littleEndian(at: 0, bytes: 4))
    guard directory >= range.lowerBound else {
      throw .malformed("a trailer longer than what it is in", offset: range.lowerBound)
    }
    let entries = try context.block(directory..<end)
    guard entries.count >= 12, entries.starts(with: Array("SEFH".utf8)) else {
      throw .malformed("a trailer without its directory", offset: directory)
    }
    let count = entries.littleEndian(at: 8, bytes: 4)
    guard count <= (entries.count - 12) / 12 else { throw .malformed("a trailer's directory", offset: directory) }
    var blocks: [Range<Int64>] = []
    for i in 0..<count {
      try context.countStructure()
      let start = directory - Int64(entries.littleEndian(at: 16 + 12 * i, bytes: 4))
      let length = Int64(entries.littleEndian(at: 20 + 12 * i, bytes: 4))
      guard start >= range.lowerBound, length <= directory - start else {
        throw .malformed("a block outside of its trailer", offset: directory)
      }
      blocks.append(start..<start + length)
    }
    return (blocks, blocks.reduce(directory) { min($0, $1.lowerBound) })
  }

  /// A block: two bytes, a type, the length of its name, the name, the data.
  private static func samsungBlock(
    _ block: Range<Int64>, _ context: inout LocationRemovalContext
  ) throws(LocationRemovalError) {
    let head = try context.head(of: block, count: 8)
    guard head.count == 8 else { return try context.zero(block) }
    let nameBytes = head.littleEndian(at: 4, bytes: 4)
    guard nameBytes <= 128, Int64(nameBytes) <= block.upperBound - block.lowerBound - 8 else {
      return try context.zero(block)
    }
    let name = try context.block(block.lowerBound + 8..<block.lowerBound + 8 + Int64(nameBytes))
    let data = block.lowerBound + 8 + Int64(nameBytes)..<block.upperBound
    if data.isEmpty { return }
    let start = try context.head(of: data, count: FileType.bytes)
    if let format = MediaFormat(firstBytes: start), !format.hasShortSignature {
      try remove(from: data, &context)
    } else if !harmlessSamsungBlocks.contains(String(decoding: name, as: UTF8.self)) {
      try context.zero(data)
    }
  }
}
