/// A QuickTime or MPEG-4 movie without samples (ISO/IEC 14496-12; QuickTime File Format).
package struct MovieFile: Sendable {
  package struct Track: Sendable {
    package var handler = "vide"
    package var isEnabled = true
    package var width = 1920
    package var height = 1080
    /// a, b, c and d of the matrix.
    package var matrix = (1, 0, 0, 1)
    /// Runs of frames with the same duration in ticks; a second has 600 ticks.
    package var runs: [(frames: Int, ticks: Int)] = [(60, 20)]
    /// Whether only the sample description has the size.
    package var hasSizeOnlyInSamples = false

    package init() {}
    package init(_ change: (inout Track) -> Void) { change(&self) }
  }

  package var major: String? = "qt  "
  package var compatible: [String] = []
  package var tracks = [Track()]
  /// Ticks, 600 a second.
  package var duration = 1200
  package var fragmentDuration: Int?
  /// Seconds since 1904.
  package var created = 0
  package var trackCreated = 0
  /// QuickTime's metadata, by key.
  package var keys: [(key: String, text: String)] = []
  /// QuickTime's metadata that is not text, by key, with the number of its type.
  package var numbers: [(key: String, type: Int, bytes: [UInt8])] = []
  /// QuickTime's user data, by type.
  package var userData: [(type: String, text: String)] = []
  /// iTunes' metadata, by type.
  package var items: [(type: String, text: String)] = []
  package var xmp: String?
  package var xmpIsInBox = false
  /// Bytes of sample data before the movie box; `nil` for none.
  package var samplesFirst: Int?
  /// Whether sizes and times have 64 bits.
  package var isLong = false
  package var isCompressed = false

  package init() {}

  package init(_ change: (inout MovieFile) -> Void) { change(&self) }

  package var bytes: [UInt8] {
    var file = major.map { Boxes.fileType($0, compatible) } ?? []
    if let samplesFirst {
      let samples = [UInt8](repeating: 0x55, count: samplesFirst)
      file += Boxes.box("wide") + (isLong ? Boxes.longBox("mdat", samples) : Boxes.box("mdat", samples))
    }
    file += isLong ? Boxes.longBox("moov", movie) : Boxes.box("moov", movie)
    if let xmp, xmpIsInBox { file += Boxes.userBox(Boxes.xmpType, Array(xmp.utf8)) }
    return samplesFirst == nil ? file + Boxes.box("mdat", [1, 2, 3, 4]) : file
  }

  private func time(_ value: Int) -> [UInt8] { Boxes.number(value, isLong ? 8 : 4) }
  private var version: Int { isLong ? 1 : 0 }

  private var movie: [UInt8] {
    if isCompressed { return Boxes.box("cmov", [UInt8](repeating: 0, count: 8)) }
    var movie = Boxes.fullBox(
      "mvhd", version: version, time(created), time(created), Boxes.number(600, 4), time(duration),
      [UInt8](repeating: 0, count: 80))
    for track in tracks { movie += box(of: track) }
    if let fragmentDuration {
      movie += Boxes.box("mvex", Boxes.fullBox("mehd", version: version, time(fragmentDuration)))
    }
    if !keys.isEmpty || !numbers.isEmpty { movie += metadata }
    var data: [UInt8] = []
    for (type, text) in userData {
      let text = Array(text.utf8)
      data += Boxes.box(type, Boxes.number(text.count, 2), Boxes.number(0x15C7, 2), text)
    }
    if !items.isEmpty {
      data += Boxes.fullBox(
        "meta", handler("mdir"), Boxes.box("ilst", items.flatMap { Boxes.box($0.type, value($0.text)) }))
    }
    if let xmp, !xmpIsInBox { data += Boxes.box("XMP_", Array(xmp.utf8)) }
    // QuickTime ends its user data with four zeros.
    return data.isEmpty ? movie : movie + Boxes.box("udta", data + [0, 0, 0, 0])
  }

  private func handler(_ type: String) -> [UInt8] {
    Boxes.fullBox("hdlr", Boxes.number(0, 4), Boxes.fourCC(type), [UInt8](repeating: 0, count: 13))
  }

  private func value(_ text: String) -> [UInt8] { value(Array(text.utf8), type: 1) }

  private func value(_ bytes: [UInt8], type: Int) -> [UInt8] {
    Boxes.box("data", Boxes.number(type, 4), Boxes.number(0, 4), bytes)
  }

  /// QuickTime's metadata box has no version field.
  private var metadata: [UInt8] {
    let values = keys.map { ($0.key, value($0.text)) } + numbers.map { ($0.key, value($0.bytes, type: $0.type)) }
    let names = values.flatMap { Boxes.number($0.0.utf8.count + 8, 4) + Boxes.fourCC("mdta") + Array($0.0.utf8) }
    let list = values.enumerated().flatMap { i, pair in
      Boxes.number(pair.1.count + 8, 4) + Boxes.number(i + 1, 4) + pair.1
    }
    return Boxes.box(
      "meta", handler("mdta"), Boxes.fullBox("keys", Boxes.number(values.count, 4), names), Boxes.box("ilst", list))
  }

  private func box(of track: Track) -> [UInt8] {
    let (a, b, c, d) = track.matrix
    let matrix = [a << 16, b << 16, 0, c << 16, d << 16, 0, 0, 0, 1 << 30].flatMap { Boxes.number($0, 4) }
    let shown = track.hasSizeOnlyInSamples ? (0, 0) : (track.width, track.height)
    let header = Boxes.fullBox(
      "tkhd", version: version, flags: track.isEnabled ? 3 : 0, time(trackCreated), time(trackCreated),
      Boxes.number(1, 4), Boxes.number(0, 4), time(duration), [UInt8](repeating: 0, count: 16), matrix,
      Boxes.number(shown.0 << 16, 4), Boxes.number(shown.1 << 16, 4))
    let ticks = track.runs.reduce(0) { $0 + $1.frames * $1.ticks }
    let mediaHeader = Boxes.fullBox(
      "mdhd", version: version, time(trackCreated), time(trackCreated), Boxes.number(600, 4), time(ticks),
      Boxes.number(0, 4))
    let entry = Boxes.box(
      "avc1", [UInt8](repeating: 0, count: 24), Boxes.number(track.width, 2), Boxes.number(track.height, 2),
      [UInt8](repeating: 0, count: 50))
    let table = Boxes.box(
      "stbl", Boxes.fullBox("stsd", Boxes.number(1, 4), entry),
      Boxes.fullBox(
        "stts", Boxes.number(track.runs.count, 4),
        track.runs.flatMap { Boxes.number($0.frames, 4) + Boxes.number($0.ticks, 4) }))
    return Boxes.box(
      "trak", header,
      Boxes.box("mdia", mediaHeader, handler(track.handler), Boxes.box("minf", Boxes.fullBox("vmhd"), table)))
  }
}
