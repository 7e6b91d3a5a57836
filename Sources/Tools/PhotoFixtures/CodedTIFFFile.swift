import CZlib

/// A TIFF with a coded picture in any layout, by encoders that are written for tests.
package struct CodedTIFFFile: Sendable {
  package enum Compression: Int, Sendable, CaseIterable {
    case none = 1
    case lzw = 5
    case jpeg = 7
    case deflate = 8
    case packBits = 32_773
  }

  /// An entry of the directory: numbers of the type's size.
  package struct Entry: Sendable {
    package var tag: Int
    package var type: Int
    package var values: [Int]

    package init(_ tag: Int, type: Int, _ values: [Int]) { (self.tag, self.type, self.values) = (tag, type, values) }
  }

  package var width: Int
  package var height: Int
  /// Sample c of pixel (x, y) at `(y * width + x) * samplesPerPixel + c`.
  package var samples: [Int]
  package var samplesPerPixel: Int
  package var bits = 8
  /// PhotometricInterpretation.
  package var interpretation = 2
  package var compression = Compression.none
  /// 2 stores differences from the pixel on the left.
  package var predictor = 1
  package var isPlanar = false
  package var isBigEndian = false
  package var isBigTIFF = false
  /// Whether the bits of each byte are in reverse order.
  package var isReversed = false
  package var rowsPerStrip: Int?
  package var tile: (width: Int, height: Int)?
  package var extraSamples: [Int] = []
  /// Colours of a palette: all red ones first, 16 bits each.
  package var colorMap: [Int] = []
  /// Pixels that share chroma, of YCbCr that is not a JPEG.
  package var subsampling = (across: 1, down: 1)
  package var orientation: Int?
  package var profile: [UInt8] = []
  /// Whether the tables of JPEGs are in the directory, and not in each JPEG.
  package var sharesTables = true
  /// How JPEGs are written.
  package var jpeg = JPEGFile { $0.sampling = (1, 1) }
  /// Entries that are added or replace others.
  package var entries: [Entry] = []
  /// Replaces the data of the strips or tiles.
  package var data: [[UInt8]]?
  /// Further pages of the file, or SubIFDs of this one. Of the same byte order, and of no BigTIFF.
  package var nextPages: [CodedTIFFFile] = []
  package var subPages: [CodedTIFFFile] = []

  package init(
    width: Int, height: Int, samplesPerPixel: Int, samples: [Int], _ change: (inout CodedTIFFFile) -> Void = { _ in }
  ) {
    (self.width, self.height, self.samples, self.samplesPerPixel) = (width, height, samples, samplesPerPixel)
    change(&self)
  }

  package init(_ pixels: Pixels, _ change: (inout CodedTIFFFile) -> Void = { _ in }) {
    self.init(
      width: pixels.width, height: pixels.height, samplesPerPixel: pixels.channels, samples: pixels.bytes.map(Int.init))
    if pixels.channels < 3 { interpretation = 1 }
    if pixels.channels % 2 == 0 { extraSamples = [2] }
    change(&self)
  }

  // MARK: The file

  package var bytes: [UInt8] {
    // The directory comes after the data.
    var file = (isBigEndian ? Array("MM".utf8) : Array("II".utf8)) + number(isBigTIFF ? 43 : 42, 2)
    if isBigTIFF { file += number(8, 2) + number(0, 2) }
    var pointer = file.count
    file += number(0, fieldBytes)
    for page in [self] + nextPages { pointer = page.append(to: &file, pointer: pointer) }
    return file
  }

  /// Adds the data and the directory, and writes the directory's position at `pointer`. Returns the place for the
  /// position of the next page's directory.
  private func append(to file: inout [UInt8], pointer: Int) -> Int {
    let tiles = data ?? codedTiles
    var children: [Int] = []
    for page in subPages {
      // A place for the position of the sub-page's directory.
      let place = file.count
      file += number(0, fieldBytes)
      _ = page.append(to: &file, pointer: place)
      children.append(place)
    }
    children = children.map { place in
      (0..<fieldBytes).reduce(0) { $0 | Int(file[place + $1]) << (8 * (isBigEndian ? fieldBytes - 1 - $1 : $1)) }
    }
    var offsets: [Int] = []
    for tile in tiles {
      offsets.append(file.count)
      file += tile + (tile.count % 2 == 1 ? [0] : [])
    }
    var directory = ownEntries(offsets, tiles.map(\.count))
    if !children.isEmpty { directory.append(Entry(330, type: 4, children)) }
    for entry in entries {
      directory.removeAll { $0.tag == entry.tag }
      directory.append(entry)
    }
    directory.sort { $0.tag < $1.tag }
    var values: [UInt8] = []
    let start = file.count
    let end = start + (isBigTIFF ? 8 : 2) + directory.count * (4 + 2 * fieldBytes) + fieldBytes
    file.replaceSubrange(pointer..<pointer + fieldBytes, with: number(start, fieldBytes))
    file += number(directory.count, isBigTIFF ? 8 : 2)
    for entry in directory {
      let size = [1: 1, 2: 1, 3: 2, 5: 8, 7: 1, 16: 8][entry.type] ?? 4
      var content = entry.values.flatMap { entry.type == 5 ? number($0, 4) + number(1000, 4) : number($0, size) }
      file += number(entry.tag, 2) + number(entry.type, 2) + number(entry.values.count, fieldBytes)
      if content.count > fieldBytes {
        let place = end + values.count
        values += content + (content.count % 2 == 1 ? [0] : [])
        content = number(place, fieldBytes)
      }
      file += content + [UInt8](repeating: 0, count: fieldBytes - content.count)
    }
    let next = file.count
    file += number(0, fieldBytes) + values
    return next
  }

  private var fieldBytes: Int { isBigTIFF ? 8 : 4 }

  private func number(_ value: Int, _ bytes: Int) -> [UInt8] {
    let little = (0..<bytes).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
    return isBigEndian ? little.reversed() : little
  }

  private func ownEntries(_ offsets: [Int], _ lengths: [Int]) -> [Entry] {
    let offsetType = isBigTIFF ? 16 : 4
    var all = [
      Entry(256, type: 4, [width]), Entry(257, type: 4, [height]),
      Entry(258, type: 3, [Int](repeating: bits, count: samplesPerPixel)), Entry(259, type: 3, [compression.rawValue]),
      Entry(262, type: 3, [interpretation]), Entry(277, type: 3, [samplesPerPixel]),
      Entry(284, type: 3, [isPlanar ? 2 : 1]),
    ]
    if let tile {
      all += [Entry(322, type: 3, [tile.width]), Entry(323, type: 3, [tile.height])]
      all += [Entry(324, type: offsetType, offsets), Entry(325, type: 4, lengths)]
    } else {
      all += [Entry(273, type: offsetType, offsets), Entry(279, type: 4, lengths)]
      if let rowsPerStrip { all.append(Entry(278, type: 3, [rowsPerStrip])) }
    }
    if predictor != 1 { all.append(Entry(317, type: 3, [predictor])) }
    if isReversed { all.append(Entry(266, type: 3, [2])) }
    if !extraSamples.isEmpty { all.append(Entry(338, type: 3, extraSamples)) }
    if !colorMap.isEmpty { all.append(Entry(320, type: 3, colorMap)) }
    if interpretation == 6 { all.append(Entry(530, type: 3, [subsampling.across, subsampling.down])) }
    if let orientation { all.append(Entry(274, type: 3, [orientation])) }
    if !profile.isEmpty { all.append(Entry(34_675, type: 7, profile.map(Int.init))) }
    if compression == .jpeg, sharesTables, data == nil, let tables = jpegTiles.first?.tables {
      all.append(Entry(347, type: 7, tables.map(Int.init)))
    }
    return all
  }

  // MARK: Strips and tiles

  private var tileSize: (width: Int, height: Int) { tile ?? (width, min(height, rowsPerStrip ?? height)) }

  /// The samples of each strip or tile, row by row. The samples beyond the picture repeat its last column and row;
  /// strips have none.
  package var tiles: [(width: Int, height: Int, samples: [Int])] {
    let size = tileSize
    var all: [(width: Int, height: Int, samples: [Int])] = []
    for channels in isPlanar ? (0..<samplesPerPixel).map({ $0..<$0 + 1 }) : [0..<samplesPerPixel] {
      for top in stride(from: 0, to: height, by: size.height) {
        for left in stride(from: 0, to: width, by: size.width) {
          let rows = tile == nil ? min(size.height, height - top) : size.height
          var list: [Int] = []
          list.reserveCapacity(rows * size.width * channels.count)
          for y in top..<top + rows {
            for x in left..<left + size.width {
              let pixel = min(y, height - 1) * width + min(x, width - 1)
              for c in channels { list.append(samples[pixel * samplesPerPixel + c]) }
            }
          }
          all.append((size.width, rows, list))
        }
      }
    }
    return all
  }

  private var codedTiles: [[UInt8]] {
    if compression == .jpeg { return jpegTiles.map(\.data) }
    return tiles.map { tile in
      let bytes = stored(tile.samples, width: tile.width, height: tile.height)
      switch compression {
      case .none, .jpeg: return bytes
      case .packBits: return PackBits.encoded(bytes)
      case .lzw: return TIFFStrings.encoded(bytes)
      case .deflate: return deflated(bytes)
      }
    }
  }

  private func deflated(_ bytes: [UInt8]) -> [UInt8] {
    var length = compressBound(uLong(bytes.count))
    return [UInt8](unsafeUninitializedCapacity: Int(length)) { buffer, filled in
      guard compress2(buffer.baseAddress, &length, bytes, uLong(bytes.count), 6) == Z_OK else {
        fatalError("zlib refused to write a fixture")
      }
      filled = Int(length)
    }
  }

  private func stored(_ samples: [Int], width: Int, height: Int) -> [UInt8] {
    if subsampling != (1, 1) { return units(samples, width: width, height: height) }
    let channels = isPlanar ? 1 : samplesPerPixel
    var bytes: [UInt8] = []
    for y in 0..<height {
      let row = samples[y * width * channels..<(y + 1) * width * channels]
      var list = Array(row)
      if predictor == 2 {
        for i in list.indices.reversed() where i >= channels {
          list[i] = (list[i] - list[i - channels]) & (1 << bits - 1)
        }
      }
      if bits >= 8 {
        for sample in list { bytes += number(sample, bits / 8) }
      } else {
        var (waiting, count) = (0, 0)
        for (i, sample) in list.enumerated() {
          (waiting, count) = (waiting << bits | sample, count + bits)
          if count == 8 || i == list.count - 1 {
            bytes.append(UInt8(waiting << (8 - count)))
            (waiting, count) = (0, 0)
          }
        }
      }
    }
    guard isReversed else { return bytes }
    return bytes.map { byte in (0..<8).reduce(0) { $0 | (byte >> UInt8($1) & 1) << UInt8(7 - $1) } }
  }

  /// Luma samples of the pixels that share chroma, then the chroma of the first of them.
  private func units(_ samples: [Int], width: Int, height: Int) -> [UInt8] {
    func sample(_ x: Int, _ y: Int, _ c: Int) -> UInt8 {
      UInt8(samples[(min(y, height - 1) * width + min(x, width - 1)) * 3 + c])
    }
    var bytes: [UInt8] = []
    for top in stride(from: 0, to: height, by: subsampling.down) {
      for left in stride(from: 0, to: width, by: subsampling.across) {
        for y in top..<top + subsampling.down {
          for x in left..<left + subsampling.across { bytes.append(sample(x, y, 0)) }
        }
        bytes += [sample(left, top, 1), sample(left, top, 2)]
      }
    }
    return bytes
  }

  /// Each strip or tile as a complete JPEG.
  package var jpegs: [[UInt8]] {
    tiles.map { tile in
      jpeg.encoded(
        Pixels(
          width: tile.width, height: tile.height, channels: isPlanar ? 1 : samplesPerPixel,
          bytes: tile.samples.map { UInt8($0) }))
    }
  }

  /// JPEGs as TIFF has them: without the segments of applications, with components that are numbered from 1, and
  /// perhaps without their tables.
  private var jpegTiles: [(data: [UInt8], tables: [UInt8])] {
    jpegs.map { file in
      var (data, tables): ([UInt8], [UInt8]) = ([0xFF, 0xD8], [0xFF, 0xD8])
      var position = 2
      while position + 4 <= file.count {
        let marker = file[position + 1]
        let end = position + 2 + Int(file[position + 2]) << 8 + Int(file[position + 3])
        var segment = Array(file[position..<end])
        switch marker {
        case 0xDB, 0xC4:
          if sharesTables { tables += segment } else { data += segment }
        case 0xE0...0xEF: break
        case 0xC0...0xC2:
          for i in 0..<Int(segment[9]) { segment[10 + i * 3] = UInt8(i + 1) }
          data += segment
        case 0xDA:
          for i in 0..<Int(segment[4]) { segment[5 + i * 2] = UInt8(i + 1) }
          data += segment + file[end...]
          return (data, tables + [0xFF, 0xD9])
        default: data += segment
        }
        position = end
      }
      fatalError("a fixture without a scan")
    }
  }
}

/// PackBits (TIFF 6.0 §9).
private enum PackBits {
  static func encoded(_ bytes: [UInt8]) -> [UInt8] {
    var out: [UInt8] = []
    var position = 0
    while position < bytes.count {
      let end = bytes[position...].prefix(128).firstIndex { $0 != bytes[position] } ?? min(bytes.count, position + 128)
      if end - position >= 2 {
        out += [UInt8(257 - (end - position)), bytes[position]]
        position = end
        // A code without a meaning.
        if position % 5 == 0 { out.append(128) }
      } else {
        let copied = bytes[position...].prefix(1 + position % 90)
        out += [UInt8(copied.count - 1)] + copied
        position += copied.count
      }
    }
    return out
  }
}

/// TIFF's variant of LZW (TIFF 6.0 §13).
package enum TIFFStrings {
  package static func encoded(_ bytes: [UInt8]) -> [UInt8] {
    var out: [UInt8] = []
    var (bits, bitCount) = (0, 0)
    var table: [Int: Int] = [:]
    var (count, codeBits) = (258, 9)
    func put(_ code: Int) {
      bits = bits << codeBits | code
      bitCount += codeBits
      while bitCount >= 8 {
        bitCount -= 8
        out.append(UInt8(bits >> bitCount & 255))
      }
      bits &= 1 << bitCount - 1
    }
    put(256)
    var current: Int?
    for byte in bytes {
      guard let prefix = current else {
        current = Int(byte)
        continue
      }
      if let known = table[prefix << 8 | Int(byte)] {
        current = known
        continue
      }
      put(prefix)
      table[prefix << 8 | Int(byte)] = count
      count += 1
      current = Int(byte)
      if count == 4095 {
        put(256)
        (table, count, codeBits) = ([:], 258, 9)
      } else if count == 1 << codeBits {
        // The decoder adds each string one code later than the encoder, and TIFF's codes grow one code early.
        codeBits += 1
      }
    }
    if let current { put(current) }
    // The decoder adds a string for this code too.
    if count + 1 == 1 << codeBits && codeBits < 12 { codeBits += 1 }
    put(257)
    if bitCount > 0 { out.append(UInt8(bits << (8 - bitCount) & 255)) }
    return out
  }
}
