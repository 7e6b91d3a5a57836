import ImageCodec
import MediaMetadata
import PhotoFixtures
import PhotoModel
import Testing

@Suite("QuickTime and MPEG-4")
struct MovieHeaderTests {
  @Test(
    "the movie box is found before and after the samples, with 32-bit and 64-bit sizes",
    arguments: [(nil, false), (nil, true), (1000, false), (1000, true)] as [(Int?, Bool)])
  func order(_ samplesFirst: Int?, _ isLong: Bool) throws {
    let read = try header(
      MovieFile {
        ($0.samplesFirst, $0.isLong, $0.created) = (samplesFirst, isLong, 3_600_000_000)
        $0.duration = 750
      }.bytes)
    #expect(read.storedSize == PixelSize(width: 1920, height: 1080) && read.orientation == .topLeft)
    #expect(read.durationSeconds == 1.25)
    #expect(
      read.containerDate
        == EXIFDate(year: 2018, month: 1, day: 28, hour: 16, minute: 0, second: 0, offsetMinutes: 0, isUTC: true))
  }

  static let matrices: [(a: Int, b: Int, c: Int, d: Int, Orientation)] = [
    (1, 0, 0, 1, .topLeft), (0, 1, -1, 0, .rightTop), (-1, 0, 0, -1, .bottomRight), (0, -1, 1, 0, .leftBottom),
    (-1, 0, 0, 1, .topRight), (1, 0, 0, -1, .bottomLeft), (0, 1, 1, 0, .leftTop), (0, -1, -1, 0, .rightBottom),
  ]

  @Test("a track's matrix becomes the orientation", arguments: matrices)
  func matrix(_ a: Int, _ b: Int, _ c: Int, _ d: Int, _ orientation: Orientation) throws {
    let read = try header(MovieFile { $0.tracks[0].matrix = (a, b, c, d) }.bytes)
    #expect(read.orientation == orientation)
    #expect(read.storedSize == PixelSize(width: 1920, height: 1080))
    #expect(read.uprightSize == (orientation.swapsSides ? PixelSize(width: 1080, height: 1920) : read.storedSize))
  }

  @Test("the first enabled video track is used")
  func tracks() throws {
    let sound = MovieFile.Track { $0.handler = "soun" }
    let chapters = MovieFile.Track { ($0.isEnabled, $0.width, $0.height) = (false, 160, 90) }
    let film = MovieFile.Track { ($0.width, $0.height) = (640, 480) }
    #expect(
      try header(MovieFile { $0.tracks = [sound, chapters, film, MovieFile.Track()] }.bytes).storedSize.width == 640)
    #expect(try header(MovieFile { $0.tracks = [chapters, sound] }.bytes).storedSize.width == 160)
    // The size may be in the sample description only.
    let hidden = MovieFile.Track { ($0.width, $0.height, $0.hasSizeOnlyInSamples) = (320, 240, true) }
    #expect(try header(MovieFile { $0.tracks = [hidden] }.bytes).storedSize == PixelSize(width: 320, height: 240))
  }

  static let durations: [(movie: Int, fragments: Int?, seconds: Double)] = [
    (1200, nil, 2), (0, 900, 1.5), (0, nil, 2), (0xFFFF_FFFF, nil, 2), (600, 900, 1.5),
  ]

  @Test("the duration is that of the movie with its fragments, else that of its track", arguments: durations)
  func duration(_ movie: Int, _ fragments: Int?, _ seconds: Double) throws {
    let read = try header(
      MovieFile {
        ($0.duration, $0.fragmentDuration) = (movie, fragments)
        // 60 frames of a thirtieth of a second each.
        $0.tracks[0].runs = [(60, 20)]
      }.bytes)
    #expect(read.durationSeconds == seconds)
  }

  static let rates: [([(frames: Int, ticks: Int)], Bool)] = [
    ([(60, 20)], false), ([(600, 5)], true), ([(600, 6)], true), ([(1, 100), (2000, 5)], true),
    ([(30, 20), (120, 5), (30, 20)], false), ([], false), ([(5, 0)], false),
  ]

  @Test("a video with 100 frames per second or more is a high frame rate video", arguments: rates.indices)
  func frameRate(_ i: Int) throws {
    let (runs, isHigh) = Self.rates[i]
    let read = try header(MovieFile { $0.tracks[0].runs = runs }.bytes)
    #expect(read.facts.subtypes.contains(.videoHighFrameRate) == isHigh)
  }

  static let kinds: [(name: String, keys: [(String, String)], rate: Int, MediaSubtypes)] = [
    ("a video", [], 30, []),
    ("an iPhone's time-lapse", [("com.apple.photos.captureMode", "Time-lapse")], 30, .videoTimelapse),
    ("another capture mode", [("com.apple.photos.captureMode", "Video")], 30, []),
    ("a video that plays at its high rate", [("com.apple.quicktime.full-frame-rate-playback-intent", "1")], 120, []),
    (
      "a video that plays slowly", [("com.apple.quicktime.full-frame-rate-playback-intent", "0")], 120,
      .videoHighFrameRate
    ),
    ("Android's slow motion", [("com.android.capture.fps", "240.0")], 30, .videoHighFrameRate),
    ("Android's time-lapse", [("com.android.capture.fps", "10")], 30, .videoTimelapse),
    ("Android in the dark", [("com.android.capture.fps", "15")], 30, []),
    ("an iPhone's screen", [("com.apple.quicktime.author", "ReplayKitRecording")], 30, .videoScreenRecording),
    ("another author", [("com.apple.quicktime.author", "Someone")], 30, []),
    ("a spatial video", [("com.apple.quicktime.spatial.format-version", "1.0")], 30, .spatialMedia),
    ("a cinematic video", [("com.apple.quicktime.cinematic-video", "1")], 30, .videoCinematic),
    ("a video that is not cinematic", [("com.apple.quicktime.cinematic-video-intent", "0")], 30, []),
  ]

  @Test("the special kinds of a video are read from its metadata and frame rate", arguments: kinds.indices)
  func kind(_ i: Int) throws {
    let (name, keys, rate, subtypes) = Self.kinds[i]
    let read = try header(
      MovieFile {
        $0.keys = keys
        $0.tracks[0].runs = [(600, 600 / rate)]
      }.bytes)
    #expect(read.facts.subtypes == subtypes, "\(name)")
  }

  @Test("numbers of a movie's metadata are read whatever their type")
  func numbers() throws {
    let intent = "com.apple.quicktime.full-frame-rate-playback-intent"
    for (type, bytes) in [(22, [1]), (21, [0, 0, 0, 1]), (77, [0, 0, 0, 1]), (65, [1])] as [(Int, [UInt8])] {
      let read = try header(
        MovieFile {
          $0.numbers = [(intent, type, bytes)]
          $0.tracks[0].runs = [(600, 5)]
        }.bytes)
      #expect(read.facts.subtypes == [], "\(type)")
    }
    // 240 as a 32-bit float.
    let rate = try header(MovieFile { $0.numbers = [("com.android.capture.fps", 23, [0x43, 0x70, 0, 0])] }.bytes)
    #expect(rate.facts.subtypes == .videoHighFrameRate)
  }

  static let dates: [(text: String, EXIFDate?)] = [
    (
      "2019-08-13T14:05:06+0200",
      EXIFDate(year: 2019, month: 8, day: 13, hour: 14, minute: 5, second: 6, offsetMinutes: 120)
    ),
    (
      "2019-08-13T14:05:06-03:30",
      EXIFDate(year: 2019, month: 8, day: 13, hour: 14, minute: 5, second: 6, offsetMinutes: -210)
    ),
    (
      "2019-08-13T14:05:06Z",
      EXIFDate(year: 2019, month: 8, day: 13, hour: 14, minute: 5, second: 6, offsetMinutes: 0, isUTC: true)
    ),
    (
      "2019-08-13T14:05:06+0000",
      EXIFDate(year: 2019, month: 8, day: 13, hour: 14, minute: 5, second: 6, offsetMinutes: 0)
    ),
    (
      "2019-08-13T14:05:06.25Z",
      EXIFDate(
        year: 2019, month: 8, day: 13, hour: 14, minute: 5, second: 6, millisecond: 250, offsetMinutes: 0, isUTC: true)
    ),
    ("2019-08-13 14:05:06", EXIFDate(year: 2019, month: 8, day: 13, hour: 14, minute: 5, second: 6)),
    ("2019-08-13", nil), ("2019", nil), ("2019-13-13T14:05:06Z", nil), ("2019-08-13T25:05:06Z", nil), ("", nil),
    ("٢٠١٩-08-13T14:05:06Z", nil), ("+019-08-13T14:05:06Z", nil),
  ]

  @Test("the QuickTime creation date has a time zone offset", arguments: dates)
  func date(_ text: String, _ date: EXIFDate?) throws {
    let key = "com.apple.quicktime.creationdate"
    #expect(try header(MovieFile { $0.keys = [("x", "y"), (key, text)] }.bytes).containerDate == date)
    #expect(try header(MovieFile { $0.userData = [("©day", text)] }.bytes).containerDate == date)
    #expect(try header(MovieFile { $0.items = [("©day", text)] }.bytes).containerDate == date)
  }

  static let times: [(movie: Int, track: Int, EXIFDate?)] = [
    (0, 0, nil),
    (
      0, 2_082_844_801,
      EXIFDate(year: 1970, month: 1, day: 1, hour: 0, minute: 0, second: 1, offsetMinutes: 0, isUTC: true)
    ),
    (
      3_665_001_599, 5,
      EXIFDate(year: 2020, month: 2, day: 19, hour: 23, minute: 59, second: 59, offsetMinutes: 0, isUTC: true)
    ),
    (
      3_665_822_400, 5,
      EXIFDate(year: 2020, month: 2, day: 29, hour: 12, minute: 0, second: 0, offsetMinutes: 0, isUTC: true)
    ),
    // Counted from 1970, as some cameras do.
    (
      1_582_977_600, 0,
      EXIFDate(year: 2020, month: 2, day: 29, hour: 12, minute: 0, second: 0, offsetMinutes: 0, isUTC: true)
    ),
  ]

  @Test("without that date, the movie's time in UTC is used, else the track's", arguments: times)
  func time(_ movie: Int, _ track: Int, _ date: EXIFDate?) throws {
    #expect(try header(MovieFile { ($0.created, $0.trackCreated) = (movie, track) }.bytes).containerDate == date)
  }

  @Test("a date with an offset takes precedence over the movie's time")
  func datePrecedence() throws {
    let read = try header(
      MovieFile {
        $0.created = 3_600_000_000
        $0.keys = [("com.apple.quicktime.creationdate", "2019-08-13T14:05:06+0200")]
        $0.userData = [("©day", "2001-01-01T00:00:00Z")]
      }.bytes)
    #expect(read.containerDate?.year == 2019 && read.containerDate?.offsetMinutes == 120)
  }

  @Test("camera, location and content identifier are read")
  func metadata() throws {
    let apple = try header(
      MovieFile {
        $0.keys = [
          ("com.apple.quicktime.content.identifier", "5F9A-01"), ("com.apple.quicktime.make", "Apple"),
          ("com.apple.quicktime.model", "iPhone 12"),
          ("com.apple.quicktime.location.ISO6709", "+48.2082-016.3738+171.5/"),
        ]
      }.bytes)
    #expect(apple.facts.contentIdentifier == "5F9A-01" && apple.exif.make == "Apple" && apple.exif.model == "iPhone 12")
    #expect(apple.exif.location == Location(latitude: 48.2082, longitude: -16.3738, altitude: 171.5))
    let android = try header(
      MovieFile {
        $0.major = "mp42"
        $0.keys = [("com.android.manufacturer", "Maker"), ("com.android.model", "Model 1")]
        $0.userData = [("©xyz", "-33.5000+018.2500/")]
      }.bytes)
    #expect(android.exif.make == "Maker" && android.exif.model == "Model 1")
    #expect(android.exif.location == Location(latitude: -33.5, longitude: 18.25))
    let old = try header(MovieFile { $0.userData = [("©mak", "Maker"), ("©mod", "Model 2")] }.bytes)
    #expect(old.exif.make == "Maker" && old.exif.model == "Model 2" && old.exif.isEmpty)
  }

  static let places: [(String, Location?)] = [
    ("+48.25+016.5/", Location(latitude: 48.25, longitude: 16.5)),
    ("+48.25+016.5+100/", Location(latitude: 48.25, longitude: 16.5, altitude: 100)),
    ("+48.25+016.5-12.5CRSWGS_84/", Location(latitude: 48.25, longitude: 16.5, altitude: -12.5)),
    ("+4815.0-01630.0/", Location(latitude: 48.25, longitude: -16.5)),
    ("-481500.0+0163000.0/", Location(latitude: -48.25, longitude: 16.5)),
    ("+90.1+000/", nil), ("+00-180.5/", nil), ("48.25+16.5", nil), ("+48.25", nil), ("", nil), ("+nan+inf/", nil),
    ("+1e1+1e1/", nil), ("++/", nil),
  ]

  @Test("ISO 6709 locations are read", arguments: places)
  func place(_ text: String, _ place: Location?) throws {
    #expect(try header(MovieFile { $0.userData = [("©xyz", text)] }.bytes).exif.location == place)
  }

  @Test("XMP is read from the user data or its own box", arguments: [false, true])
  func xmp(_ isInBox: Bool) throws {
    let bytes = MovieFile { ($0.xmp, $0.xmpIsInBox) = (packet(rating: 3), isInBox) }.bytes
    let read = try header(bytes)
    #expect(part(read.block(.xmp), of: bytes) == Array(packet(rating: 3).utf8) && read.facts.rating == 3)
  }

  @Test("the number of reads of a movie does not grow with its samples")
  func reads() throws {
    // 6 GB of samples, with a 64-bit size, then the movie box.
    let samples: Int64 = 6 << 30
    let movie = MovieFile { $0.isLong = true }.bytes
    let head = Boxes.fileType("qt  ") + Boxes.number(1, 4) + Boxes.fourCC("mdat") + Boxes.number(Int(samples) + 16, 8)
    let source = PatchedSource(head, tail: Array(movie.dropFirst(16)), at: Int64(head.count) + samples)
    let read = try MediaHeader.read(from: source, limits: CodecLimits())
    #expect(read.storedSize.width == 1920)
    #expect(source.reads <= 4, "\(source.reads) reads")
  }
}

/// Bytes at both ends of a long file, with zeros between them.
final class PatchedSource: ByteSource {
  private let head: CountingSource
  private let tail: MemoryByteSource
  private let tailOffset: Int64

  init(_ head: [UInt8], tail: [UInt8], at tailOffset: Int64) {
    self.head = CountingSource(head, size: tailOffset + Int64(tail.count))
    self.tail = MemoryByteSource(tail)
    self.tailOffset = tailOffset
  }

  var size: Int64 { head.size }
  var canReturnNotYet: Bool { false }
  var reads: Int { head.reads }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> ByteRead {
    let result = head.read(into: buffer, at: offset)
    return offset >= tailOffset ? tail.read(into: buffer, at: offset - tailOffset) : result
  }
}
