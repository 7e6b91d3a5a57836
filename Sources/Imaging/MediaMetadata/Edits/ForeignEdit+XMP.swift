// Edits in XMP: Camera Raw's settings (crs, XMP specification part 2 §2.3) and Apple's of iOS 5 and 6 (aas), which Core
// Image writes: CICrop, CIAffineTransform, CIVibrance, CIHighlightShadowAdjust and CIToneCurve have properties of fixed
// names. Packets without either namespace are not parsed.

import PhotoModel

extension ForeignEdit {
  static let cameraRaw = "http://ns.adobe.com/camera-raw-settings/1.0/"
  static let apple = "http://ns.apple.com/adjustment-settings/1.0/"
  /// A packet must contain one of them, or `orientation` in a sidecar, to be worth parsing.
  private static let searchTerms = [Array("camera-raw-settings".utf8), Array("adjustment-settings".utf8)]
  private static let orientationTerm = Array("tiff/1.0/".utf8)

  /// `nil` if the packet states no edit. Of a damaged or truncated packet, the properties before the damage count.
  ///
  /// - Parameter isSidecar: the packet is a file of its own, and its orientation takes the place of the picture's.
  ///   Inside of the picture's own file, EXIF decides (Metadata Working Group 2.0 §2.3).
  package init?(xmp packet: ArraySlice<UInt8>, isSidecar: Bool) {
    let packet = packet.prefix(XMPPacket.maximumBytes)
    guard Self.mayHaveEdit(packet, isSidecar: isSidecar) else { return nil }
    self.init(XMPDictionary(packet).properties, isSidecar: isSidecar)
  }

  /// - Parameter properties: of a packet.
  init?(_ properties: [String: MetadataValue], isSidecar: Bool) {
    let reader = EditProperties(properties)
    var edit = ForeignEdit(formatIdentifier: "", formatVersion: "")
    if reader.hasAppleEdit {
      edit = ForeignEdit(formatIdentifier: Self.apple, formatVersion: "1.0")
      edit.isAlwaysEdit = true
      reader.readApple(&edit)
    } else if reader.hasCameraRawEdit {
      edit = ForeignEdit(formatIdentifier: Self.cameraRaw, formatVersion: reader.cameraRawVersion)
      reader.readCameraRaw(&edit)
    }
    if isSidecar, let number = reader.number("tiff:Orientation"), (1...8).contains(number) {
      edit.orientation = Int(number)
      if edit.formatIdentifier.isEmpty { edit.formatIdentifier = "http://ns.adobe.com/tiff/1.0/" }
    }
    guard !edit.formatIdentifier.isEmpty else { return nil }
    self = edit
  }

  /// Whether a packet may state an edit: a search of a few microseconds.
  static func mayHaveEdit(_ packet: ArraySlice<UInt8>, isSidecar: Bool) -> Bool {
    let terms = searchTerms + (isSidecar ? [orientationTerm] : [])
    return terms.contains { XMPPacket.contains($0, in: packet) }
  }
}

/// The properties of a packet that describe an edit.
private struct EditProperties {
  private let properties: [String: MetadataValue]

  init(_ properties: [String: MetadataValue]) { self.properties = properties }

  func number(_ name: String) -> Double? {
    guard let text = properties[name]?.firstText else { return nil }
    guard let number = Double(MetadataText.trimmed(text)), number.isFinite, abs(number) < 1e9 else { return nil }
    return number
  }

  private func isTrue(_ name: String) -> Bool { properties[name]?.firstText?.lowercased() == "true" }

  // MARK: Camera Raw

  /// Sliders that have an operation with a similar effect, and how much of them is 1 or, for exposure, one stop.
  private static let sliders: [(name: String, operation: ToneOperation, unit: Double)] = [
    ("crs:Exposure2012", .exposure, 1), ("crs:Contrast2012", .contrast, 100), ("crs:Highlights2012", .highlights, 100),
    ("crs:Shadows2012", .shadows, 100), ("crs:Whites2012", .whites, 100), ("crs:Blacks2012", .blacks, 100),
    ("crs:Saturation", .saturation, 100), ("crs:Vibrance", .vibrance, 100),
    ("crs:IncrementalTemperature", .warmth, 100), ("crs:IncrementalTint", .tint, 100),
  ]

  /// Settings that were already applied describe how the picture's pixels were made.
  var hasCameraRawEdit: Bool {
    properties.keys.contains { $0.hasPrefix("crs:") } && !isTrue("crs:AlreadyApplied")
  }

  var cameraRawVersion: String {
    let text = properties["crs:Version"]?.firstText ?? ""
    return String(text.unicodeScalars.filter { (0x20..<0x7F).contains($0.value) }.prefix(ForeignEdit.maximumNameBytes))
  }

  func readCameraRaw(_ edit: inout ForeignEdit) {
    if isTrue("crs:HasCrop") {
      if let left = number("crs:CropLeft"), let top = number("crs:CropTop"), let right = number("crs:CropRight"),
        let bottom = number("crs:CropBottom"), let degrees = number("crs:CropAngle") ?? 0 as Double?,
        (-45...45).contains(degrees)
      {
        edit.frame = .corners(left: left, top: top, right: right, bottom: bottom, degrees: degrees)
      } else {
        edit.note(unknown: "crs:HasCrop")
      }
    }
    for slider in Self.sliders {
      guard let value = number(slider.name), value != 0 else { continue }
      edit.tones.append(ForeignEdit.Tone(slider.name, slider.operation, value / slider.unit))
    }
    if isTrue("crs:ConvertToGrayscale") {
      edit.tones.append(ForeignEdit.Tone("crs:ConvertToGrayscale", .blackAndWhite, 1))
    }
  }

  // MARK: Apple

  private static let affine = ["A", "B", "C", "D", "X", "Y"].map { "aas:Affine\($0)" }
  private static let rect = ["X", "Y", "W", "H"].map { "aas:Crop\($0)" }
  private static let curve = (0...4).flatMap { ["aas:Curve\($0)x", "aas:Curve\($0)y"] }
  private static let rendered = Set(affine + rect + curve + ["aas:Vibrance", "aas:Shadows", "aas:Highlights"])

  var hasAppleEdit: Bool { properties.keys.contains { $0.hasPrefix("aas:") } }

  func readApple(_ edit: inout ForeignEdit) {
    let affine = numbers(Self.affine, "CIAffineTransform", &edit)
    let rect = numbers(Self.rect, "CICrop", &edit)
    if affine != nil || rect != nil { edit.frame = .mappedPixels(affine: affine, rect: rect) }
    if let amount = number("aas:Vibrance") { edit.tones.append(ForeignEdit.Tone("CIVibrance", .vibrance, amount)) }
    // Shadows are brightened from 0; highlights are darkened from 1.
    if let amount = number("aas:Shadows"), amount != 0 {
      edit.tones.append(ForeignEdit.Tone("CIHighlightShadowAdjust", .shadows, amount))
    }
    if let amount = number("aas:Highlights"), amount != 1 {
      edit.tones.append(ForeignEdit.Tone("CIHighlightShadowAdjust", .highlights, amount - 1))
    }
    if let values = numbers(Self.curve, "CIToneCurve", &edit) {
      edit.curve = stride(from: 0, to: values.count, by: 2).map { [values[$0], values[$0 + 1]] }
      edit.curveName = "CIToneCurve"
    }
    for name in properties.keys.filter({ $0.hasPrefix("aas:") && !Self.rendered.contains($0) }).sorted() {
      edit.note(unknown: name.hasPrefix("aas:FaceBalance") ? "CIFaceBalance" : name)
    }
  }

  /// All of them, or `nil`; the filter is not understood if only some are there.
  private func numbers(_ names: [String], _ filter: String, _ edit: inout ForeignEdit) -> [Double]? {
    let found = names.compactMap(number)
    if found.count == names.count { return found }
    if names.contains(where: { properties[$0] != nil }) { edit.note(unknown: filter) }
    return nil
  }
}
