import ImageCodec
import PhotoModel

/// How a picture gets from its original to its output: decided from the header alone, before a pixel is decoded.
package struct RenderPlan: Sendable, Hashable {
  package let header: ImageHeader
  /// What is shown, in pixels of the stored picture at full size; fractional where a thumbnail stands for it.
  package let region: PixelRegion
  /// The size of the output before it is turned upright.
  package let storedOutput: PixelSize
  package let orientation: Orientation
  /// For JPEG, the DCT scale in eighths; 8 for everything else.
  package let eighths: Int
  package let firstScanOnly: Bool
  package let horizontal: ResampleAxis
  package let vertical: ResampleAxis
  /// Luma and the two of chroma, where the picture stays YCbCr from its decoder to its encoder; empty where it is RGB in
  /// between.
  package let planes: [PlaneAxes]
  package let format: OutputFormat
  package let quality: Int
  package let colorSpace: ColorSpace
  let price: RenderPrice

  /// Memory that the render takes at its height, over-estimated rather than under-.
  package var peakBytes: Int { price.sourceBytes + price.outputBytes }

  /// How many pixels a sample of chroma stands for in the output, each way.
  package var chromaStep: Int { JPEGEncoder.chromaStep(quality: quality) }

  /// The size of the finished, upright picture.
  package var outputSize: PixelSize { orientation.apply(to: storedOutput) }

  /// The pixels that are decoded, at the DCT scale: what is shown and the kernel's reach around it.
  package var decodedRegion: PixelRect {
    let columns = horizontal.inputRange
    let rows = vertical.inputRange
    return PixelRect(x: columns.lowerBound, y: rows.lowerBound, width: columns.count, height: rows.count)
  }

  /// What the rows are before their colours are converted: resampled, over white where alpha goes.
  var sourceRows: RowFormat {
    let model: RowFormat.Model =
      switch header.colorChannels {
      case 1: .gray
      case 4: .cmyk
      default: .rgb
      }
    return RowFormat(
      model: model, hasAlpha: header.hasAlpha && format.carriesAlpha, bitsPerChannel: header.bitsPerChannel)
  }

  /// Output channels: what the source has, less what the format can't carry.
  package var outputChannels: Int {
    let color = header.colorChannels == 1 ? 1 : 3
    return header.hasAlpha && format.carriesAlpha ? color + 1 : color
  }
}

/// How one plane is resampled, from what its decoder delivers to what its encoder stores.
package struct PlaneAxes: Sendable, Hashable {
  package let horizontal: ResampleAxis
  package let vertical: ResampleAxis

  /// The size of the plane in the output, before it is turned upright.
  package var storedOutput: PixelSize { PixelSize(width: horizontal.outputLength, height: vertical.outputLength) }
}

extension ImageHeader {
  /// Whether the pixels may have to be converted, as far as the header tells: profiles that can't be used, or are sRGB by
  /// another name, are found out later.
  func mayConvert(to colorSpace: ColorSpace) -> Bool {
    colorChannels == 4 || (colorSpace == .srgb && (embeddedProfile != nil || calibration != nil))
  }
}
