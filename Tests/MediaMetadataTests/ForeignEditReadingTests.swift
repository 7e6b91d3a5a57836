import Foundation
import MediaMetadata
import PhotoFixtures
import PhotoModel
import Testing

@Suite("Edits of other programs in files")
struct ForeignEditReadingTests {
  private static func packet(_ attributes: String, _ inner: String = "") -> ArraySlice<UInt8> {
    Array(
      """
      <x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
      <rdf:Description rdf:about="" xmlns:crs="http://ns.adobe.com/camera-raw-settings/1.0/"
        xmlns:aas="http://ns.apple.com/adjustment-settings/1.0/" xmlns:tiff="http://ns.adobe.com/tiff/1.0/"
        \(attributes)>\(inner)</rdf:Description></rdf:RDF></x:xmpmeta>
      """.utf8)[...]
  }

  private static let crop = """
    crs:Version="17.1" crs:HasCrop="True" crs:CropLeft="0.1" crs:CropTop="0.05" crs:CropRight="0.9" \
    crs:CropBottom="0.75" crs:CropAngle="-1.5"
    """

  @Test("Camera Raw's crop and sliders are read")
  func cameraRaw() throws {
    let sliders = #"crs:Exposure2012="+0.52" crs:Contrast2012="-20" crs:Saturation="0" crs:ConvertToGrayscale="True""#
    let edit = try #require(ForeignEdit(xmp: Self.packet("\(Self.crop) \(sliders)"), isSidecar: false))
    #expect(edit.formatIdentifier == "http://ns.adobe.com/camera-raw-settings/1.0/" && edit.formatVersion == "17.1")
    #expect(edit.frame == .corners(left: 0.1, top: 0.05, right: 0.9, bottom: 0.75, degrees: -1.5))
    #expect(
      edit.tones == [
        ForeignEdit.Tone("crs:Exposure2012", .exposure, 0.52), ForeignEdit.Tone("crs:Contrast2012", .contrast, -0.2),
        ForeignEdit.Tone("crs:ConvertToGrayscale", .blackAndWhite, 1),
      ])
    #expect(edit.unknown.isEmpty && edit.orientation == nil)
  }

  @Test("Apple's crop and affine map are read from elements, with the filters that are known")
  func apple() throws {
    let inner = """
      <aas:AffineA>0.9945</aas:AffineA><aas:AffineB>0.1045</aas:AffineB><aas:AffineC>-0.1045</aas:AffineC>
      <aas:AffineD>0.9945</aas:AffineD><aas:AffineX>12</aas:AffineX><aas:AffineY>-34.5</aas:AffineY>
      <aas:CropX>100</aas:CropX><aas:CropY>200</aas:CropY><aas:CropW>2138</aas:CropW><aas:CropH>1603</aas:CropH>
      <aas:Vibrance>0.25</aas:Vibrance><aas:Shadows>0.5</aas:Shadows><aas:Highlights>1</aas:Highlights>
      <aas:Curve0x>0</aas:Curve0x><aas:Curve0y>0</aas:Curve0y>
      <aas:FaceBalanceOrigI>0.1</aas:FaceBalanceOrigI><aas:FaceBalanceWarmth>0.1</aas:FaceBalanceWarmth>
      <aas:Sparkle>1</aas:Sparkle>
      """
    let edit = try #require(ForeignEdit(xmp: Self.packet("", inner), isSidecar: false))
    #expect(edit.formatIdentifier == "http://ns.apple.com/adjustment-settings/1.0/" && edit.isAlwaysEdit)
    #expect(
      edit.frame
        == .mappedPixels(affine: [0.9945, 0.1045, -0.1045, 0.9945, 12, -34.5], rect: [100, 200, 2138, 1603]))
    #expect(edit.tones.map(\.name) == ["CIVibrance", "CIHighlightShadowAdjust"])
    #expect(edit.curve == nil, "a curve needs all of its points")
    #expect(edit.unknown == ["CIToneCurve", "CIFaceBalance", "aas:Sparkle"])
  }

  @Test("only a sidecar states an orientation")
  func orientation() throws {
    let packet = Self.packet(#"tiff:Orientation="8""#)
    #expect(try #require(ForeignEdit(xmp: packet, isSidecar: true)).orientation == 8)
    #expect(ForeignEdit(xmp: packet, isSidecar: false) == nil)
    #expect(ForeignEdit(xmp: Self.packet(#"tiff:Orientation="9""#), isSidecar: true) == nil)
  }

  @Test(
    "what states no edit, or one that was applied to the pixels, is none",
    arguments: [
      #"\#(crop) crs:AlreadyApplied="True""#, "", #"crs:HasCrop="False" crs:AlreadyApplied="true""#,
    ])
  func none(_ attributes: String) {
    #expect(ForeignEdit(xmp: Self.packet(attributes), isSidecar: false) == nil)
  }

  @Test("numbers that are none leave the crop out, and name it")
  func damaged() throws {
    for value in ["nan", "inf", "", "1e400", "a", "0x1p3000"] {
      let text = Self.crop.replacing("CropLeft=\"0.1\"", with: "CropLeft=\"\(value)\"")
      let edit = try #require(ForeignEdit(xmp: Self.packet(text), isSidecar: false))
      #expect(edit.frame == nil && edit.unknown == ["crs:HasCrop"], "\(value)")
    }
    #expect(ForeignEdit(xmp: Array("<x camera-raw-settings".utf8)[...], isSidecar: true) == nil)
  }

  // MARK: Property lists

  @Test("crop and orientation of Apple's sidecars are read; the rest is named")
  func sidecar() throws {
    let file = AdjustmentSidecar {
      $0.adjustments = [
        AdjustmentSidecar.crop(x: 0, y: 378, width: 4032, height: 2268), AdjustmentSidecar.orientation(6),
        #"{"identifier":"SmartTone","enabled":true,"settings":{"inputLight":0.3}}"#,
        #"{"identifier":"Effect","enabled":false,"settings":{}}"#,
      ]
    }
    let edit = try #require(ForeignEdit(aae: file.encoded))
    #expect(edit.formatIdentifier == "com.apple.photo" && edit.formatVersion == "1.5" && edit.isAlwaysEdit)
    #expect(edit.frame == .mappedPixels(affine: nil, rect: [0, 378, 4032, 2268]))
    #expect(edit.turn == 6 && edit.unknown == ["SmartTone"])
    let binary = try PropertyListSerialization.data(
      fromPropertyList: PropertyListSerialization.propertyList(from: Data(file.encoded), format: nil), format: .binary,
      options: 0)
    #expect(ForeignEdit(aae: [UInt8](binary)) == edit)
  }

  @Test("data that can't be understood are an edit of which nothing is rendered")
  func unknownData() throws {
    let angled = AdjustmentSidecar {
      $0.adjustments = [AdjustmentSidecar.crop(x: 0, y: 0, width: 9, height: 9, angle: 2)]
    }
    let bomb = AdjustmentSidecar.stored([UInt8](repeating: 0x20, count: 2 << 20))
    let cases: [(AdjustmentSidecar, String)] = [
      (angled, "Crop"), (AdjustmentSidecar { $0.data = [1, 2, 3] }, "adjustmentData"),
      (AdjustmentSidecar { $0.data = [] }, "adjustmentData"),
      (AdjustmentSidecar { $0.data = AdjustmentSidecar.stored(Array("[1]".utf8)) }, "adjustmentData"),
      (AdjustmentSidecar { $0.formatIdentifier = "com.example.editor" }, "adjustmentData"),
    ]
    for (file, name) in cases {
      let edit = try #require(ForeignEdit(aae: file.encoded))
      #expect(edit.frame == nil && edit.turn == nil && edit.unknown == [name])
    }
    // Longer than a sidecar may be.
    #expect(ForeignEdit(aae: AdjustmentSidecar { $0.data = bomb }.encoded) == nil)
  }

  @Test("a small file that inflates to a large one is refused before it is large")
  func inflationLimit() throws {
    // One literal and then the same 258 bytes again and again, in a block of fixed codes: 13 bits for each copy.
    var bits: [UInt8] = [1, 1, 0]
    func put(_ code: Int, _ count: Int) { for i in (0..<count).reversed() { bits.append(UInt8(code >> i & 1)) } }
    put(0x30 + 0x20, 8)
    for _ in 0..<40_000 {
      put(0b1100_0101, 8)
      put(0, 5)
    }
    put(0, 7)
    let stream = stride(from: 0, to: bits.count, by: 8).map { start in
      bits[start..<min(start + 8, bits.count)].enumerated().reduce(UInt8(0)) { $0 | $1.element << UInt8($1.offset) }
    }
    let edit = try #require(ForeignEdit(aae: AdjustmentSidecar { $0.data = stream }.encoded))
    #expect(edit.unknown == ["adjustmentData"])
  }

  @Test(
    "a file that is no flat property list of an adjustment is none",
    arguments: [
      "", "<plist/>", "<plist><dict></dict></plist>", "Latitude 41.3",
      "<plist version=\"1.0\">" + String(repeating: "<array>", count: 20_000),
      "<!DOCTYPE plist [<!ENTITY a \"b\">]><plist version=\"1.0\"><dict></dict></plist>",
    ])
  func noSidecar(_ text: String) {
    #expect(ForeignEdit(aae: Array(text.utf8)) == nil)
  }

  @Test("a binary property list that contains itself, or lies about its objects, is none")
  func binaryAttacks() {
    func file(_ objects: [UInt8], _ offsets: [UInt8], count: Int, top: UInt8 = 0, table: Int? = nil) -> [UInt8] {
      var bytes = Array("bplist00".utf8) + objects
      let start = table ?? bytes.count
      bytes += offsets + [0, 0, 0, 0, 0, 0, 1, 1]
      for number in [count, Int(top), start] { bytes += (0..<8).reversed().map { UInt8(number >> (8 * $0) & 0xFF) } }
      return bytes
    }
    // An array whose only element is an array whose only element is the first.
    #expect(ForeignEdit(aae: file([0xA1, 1, 0xA1, 0], [8, 10], count: 2)) == nil)
    #expect(ForeignEdit(aae: file([0xA1, 0], [8], count: 1)) == nil)
    #expect(ForeignEdit(aae: file([0xD1, 0, 0], [8], count: 1)) == nil)
    #expect(ForeignEdit(aae: file([0xD0], [200], count: 1)) == nil)
    #expect(ForeignEdit(aae: file([0xD0], [8], count: 1 << 60)) == nil)
    #expect(ForeignEdit(aae: file([0xD0], [8], count: 1, table: 1 << 60)) == nil)
  }

  // MARK: EXIF of renders

  @Test(
    "the EXIF of a render keeps the photograph, and loses the place, the thumbnail and the layout",
    arguments: [false, true])
  func carriedEXIF(_ isBigEndian: Bool) throws {
    let block = EXIFBlock {
      $0.isBigEndian = isBigEndian
      ($0.make, $0.model, $0.orientation) = ("Canon", "EOS 5D", 6)
      $0.dateTimeOriginal = "2024:05:06 07:08:09"
      ($0.latitude, $0.longitude) = (41.3, 174.7)
      $0.thumbnail = JPEGFile().encoded(Scene(seed: 1).pixels(width: 160, height: 120))
    }.bytes
    // After "Exif\0\0", if the fixture has it.
    let start = block.starts(with: Array("Exif".utf8)) ? 6 : 0
    let removed = try #require(CarriedEXIF.block(block[start...], width: 640, height: 480, removing: .locations))
    let kept = try #require(CarriedEXIF.block(block[start...], width: 640, height: 480, removing: nil))
    #expect(removed.count < block.count - 1000, "the thumbnail is gone")
    for (bytes, hasPlace) in [(removed, false), (kept, true)] {
      let summary = EXIFSummary.parse(bytes[...])
      #expect(summary.summary.orientation == .topLeft && summary.thumbnail == nil)
      #expect(summary.summary.make == "Canon" && summary.summary.date != nil)
      #expect((summary.summary.location != nil) == hasPlace)
      #expect(summary.warnings == nil, "\(String(describing: summary.warnings))")
    }
    #expect(CarriedEXIF.block([1, 2, 3], width: 1, height: 1, removing: nil) == nil)
  }
}
