import ImageCodec
import PhotoModel

/// How to make an output from an original. Decided from the header only, before a pixel is decoded.
package struct RenderPlan: Sendable, Hashable {
  package let header: ImageHeader
  /// The region that is shown, with the margin that adjustments need, in pixels of the stored picture at full size;
  /// fractional for a stand-in thumbnail.
  package let region: PixelRegion
  /// The size of the output before it is turned upright, with that margin.
  package let storedOutput: PixelSize
  package let orientation: Orientation
  /// The scale of the decode in eighths; 8 if the decoder can't scale.
  package let eighths: Int
  package let firstScanOnly: Bool
  package let horizontal: ResampleAxis
  package let vertical: ResampleAxis
  /// One entry each for luma and the two chroma planes if the picture stays YCbCr from decoder to encoder; empty if it
  /// is converted to RGB in between.
  package let planes: [PlaneAxes]
  package let format: OutputFormat
  let quality: Int
  let jpegCoding: JPEGCoding
  package let colorSpace: ColorSpace
  let tone: Tone
  /// Whether rows are scaled in linear light.
  let isLinear: Bool
  /// Bits of each channel of the rows that are encoded: 8, or 16 for a PNG or a frame of high dynamic range.
  let outputBits: Int
  /// The adjustments that change pixels; `nil` if there are none.
  let edit: PixelAdjustments?
  /// The gain map that the frame keeps, or whose gains it has if it ``isHDR``; `nil` for none.
  package let gainMap: GainMapPlan?
  /// Whether the frame itself has high dynamic range.
  let isHDR: Bool
  /// Whether the colours may need converting; it is then not yet known whether the picture stays in planes.
  let mayConvert: Bool
  private(set) var price = RenderPrice()

  init(
    _ header: ImageHeader, _ geometry: RenderGeometry, _ request: ImageRequest, horizontal: ResampleAxis,
    vertical: ResampleAxis, planes: [PlaneAxes], firstScanOnly: Bool, jpegCoding: JPEGCoding, colorSpace: ColorSpace,
    outputBits: Int, gainMap: GainMapPlan?, isHDR: Bool, mayConvert: Bool
  ) {
    self.header = header
    region = geometry.region
    storedOutput = geometry.output
    orientation = geometry.orientation
    eighths = geometry.eighths
    self.firstScanOnly = firstScanOnly
    self.horizontal = horizontal
    self.vertical = vertical
    self.planes = planes
    format = request.format
    quality = geometry.quality
    self.jpegCoding = jpegCoding
    self.colorSpace = colorSpace
    tone = request.tone
    isLinear = geometry.isLinear
    self.outputBits = outputBits
    edit = geometry.edit
    self.gainMap = gainMap
    self.isHDR = isHDR
    self.mayConvert = mayConvert
    price = RenderPrice(self)
  }

  /// Peak memory of the render; an upper estimate.
  package var peakBytes: Int { price.sourceBytes + price.outputBytes }

  /// How many output pixels one chroma sample covers, in each direction.
  var chromaStep: Int { JPEGEncoder.chromaStep(quality: quality) }

  /// The size of the finished, upright picture.
  package var outputSize: PixelSize { edit?.outputSize(uprightSize) ?? uprightSize }

  /// The size of the picture whose tones are adjusted, with a margin around a part of it.
  var tonedSize: PixelSize { edit?.tonedSize(uprightSize) ?? uprightSize }

  /// The size of the upright picture before adjustments.
  var uprightSize: PixelSize { orientation.apply(to: storedOutput) }

  /// The decoded pixels, at the DCT scale: the shown region plus the kernel's reach around it.
  package var decodedRegion: PixelRect {
    let columns = horizontal.inputRange
    let rows = vertical.inputRange
    return PixelRect(x: columns.lowerBound, y: rows.lowerBound, width: columns.count, height: rows.count)
  }

  /// The channels of the frame: the source's, without alpha if the format can't store it.
  var outputChannels: Int { colorChannels + (header.hasAlpha && format.carriesAlpha ? 1 : 0) }

  /// The length of a pixel before it is encoded.
  var outputPixelBytes: Int { outputChannels * outputBits / 8 }

  /// The channels of rows that are warped and adjusted, and the length of their pixels.
  var rowChannels: Int { colorChannels + (keepsAlpha ? 1 : 0) }
  var rowPixelBytes: Int { rowChannels * outputBits / 8 }

  /// Peak memory if the warp, tones and the encoder have threads of their own (``StageStarter``); an upper estimate.
  package var stagedPeakBytes: Int {
    let widths = [uprightSize.width, tonedSize.width, outputSize.width]
    return widths.reduce(peakBytes) { $0 + StagedEncoder.byteCount(rowBytes: $1 * rowPixelBytes) }
  }

  /// The format of rows before colour conversion. Blending over white follows the conversion, so that the white is the
  /// output's.
  var sourceRows: RowFormat {
    let model: RowFormat.Model =
      switch header.colorChannels {
      case 1: .gray
      case 4: .cmyk
      default: .rgb
      }
    return RowFormat(
      model: model, hasAlpha: header.hasAlpha, bitsPerChannel: header.bitsPerChannel, outputBits: outputBits)
  }

  /// Whether the picture has alpha that is blended over white before rows are warped and adjusted.
  var dropsAlpha: Bool { header.hasAlpha && !keepsAlpha }

  /// Whether rows keep their alpha until they are encoded, or until their tones are adjusted: the white background is
  /// not adjusted.
  private var keepsAlpha: Bool {
    let hasTones = edit.map { !$0.tones.isEmpty } ?? false
    return header.hasAlpha && (format.carriesAlpha || hasTones)
  }

  private var colorChannels: Int { header.colorChannels == 1 ? 1 : 3 }
}

/// How one plane is resampled between decoder and encoder.
package struct PlaneAxes: Sendable, Hashable {
  package let horizontal: ResampleAxis
  package let vertical: ResampleAxis

  /// The size of the plane in the output, before it is turned upright.
  package var storedOutput: PixelSize { PixelSize(width: horizontal.outputLength, height: vertical.outputLength) }
}

extension ImageHeader {
  /// Whether the samples have high dynamic range, judging by the header. A profile comes first.
  var isCodedInHDR: Bool { calibration?.isHDR == true && embeddedProfile == nil }

  /// Whether the colours may need converting, judging by the header. Unusable profiles, and profiles that equal sRGB,
  /// are detected later.
  func mayConvert(to colorSpace: ColorSpace) -> Bool {
    colorChannels == 4 || calibration?.isHDR == true
      || (colorSpace == .srgb && (embeddedProfile != nil || calibration != nil))
  }
}
