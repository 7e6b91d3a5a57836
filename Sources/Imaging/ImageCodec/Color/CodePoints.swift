import PhotoModel

/// Colours as ITU-T H.273 numbers them, in HEIF's `colr` (ISO/IEC 14496-12 §12.1.5, `nclx`) and in HEVC's parameters.
package struct CodePoints: Sendable, Hashable {
  /// 2 is unspecified in all three.
  package var primaries = 2
  package var transfer = 2
  package var matrix = 2
  var isFullRange: Bool

  package init(primaries: Int = 2, transfer: Int = 2, matrix: Int = 2, isFullRange: Bool) {
    self.primaries = primaries
    self.transfer = transfer
    self.matrix = matrix
    self.isFullRange = isFullRange
  }

  /// The colours of the RGB that the matrix gives; `nil` is sRGB.
  package var calibration: ColorCalibration? {
    let colors = self.colors
    return colors.isSRGB ? nil : colors
  }

  /// Whether primaries and curve are known, so that ``colors`` are more than an assumption.
  var areColorsKnown: Bool {
    [1, 9, 11, 12].contains(primaries) && [1, 4, 5, 6, 7, 8, 11, 12, 13, 14, 15, 16, 18].contains(transfer)
  }

  /// Like ``calibration``, but never `nil`: also for sRGB. The curves of video count as sRGB's: its pictures are made
  /// to look right on the same displays.
  var colors: ColorCalibration {
    let primaries: ColorCalibration.Primaries =
      switch self.primaries {
      case 9: .bt2020
      case 11, 12: .displayP3
      default: .bt709
      }
    let transfer: ColorCalibration.Transfer =
      switch self.transfer {
      case 4: .power(2.2)
      case 5: .power(2.8)
      case 8: .power(1)
      case 16: .perceptualQuantizer
      case 18: .hybridLogGamma
      default: .sRGB
      }
    return ColorCalibration(transfer: transfer, primaries: primaries)
  }

  /// The conversion of samples to RGB (H.273 §8.3); `nil` if it is none of those below. Unspecified and reserved
  /// matrices are those of ITU-R BT.601, as in other readers. BT.2020's constant luminance counts as its other matrix.
  package var conversion: YCbCrConversion? {
    let kind: YCbCrConversion.Matrix
    switch matrix {
    case 0: kind = .identity
    case 1: kind = .weights(red: 0.2126, blue: 0.0722)
    case 4: kind = .weights(red: 0.30, blue: 0.11)
    case 7: kind = .weights(red: 0.212, blue: 0.087)
    case 8: kind = .yCgCo
    case 9, 10: kind = .weights(red: 0.2627, blue: 0.0593)
    case 12:
      guard let derivedMatrix else { return nil }
      kind = derivedMatrix
    case 11, 13...17: return nil
    default: kind = .bt601
    }
    return YCbCrConversion(matrix: kind, isFullRange: isFullRange)
  }

  /// The matrix with luma's shares of the primaries' white; `nil` for primaries that are not known.
  private var derivedMatrix: YCbCrConversion.Matrix? {
    switch primaries {
    case 1: .weights(red: 0.2126, blue: 0.0722)
    case 9: .weights(red: 0.2627, blue: 0.0593)
    case 12: .weights(red: 0.2290, blue: 0.0793)
    default: nil
    }
  }

  /// The conversion of a picture with this sampling. Gray has only luma, which all matrices have.
  func checkedConversion(of chroma: ChromaSampling) throws(CodecError) -> YCbCrConversion {
    if let conversion { return conversion }
    if chroma == .none { return YCbCrConversion(matrix: .bt601, isFullRange: isFullRange) }
    throw .unsupported("a picture whose colours have the matrix \(matrix) of ITU-T H.273")
  }
}

/// How luma and chroma become red, green and blue.
package struct YCbCrConversion: Sendable, Hashable {
  package enum Matrix: Sendable, Hashable {
    /// Green, blue and red are the three planes.
    case identity
    /// Luma, and how green and how orange a colour is: with the scale of luma, also in the narrow range.
    case yCgCo
    /// The shares of red and blue in luma.
    case weights(red: Double, blue: Double)

    static let bt601 = Matrix.weights(red: 0.299, blue: 0.114)
  }

  package let matrix: Matrix
  /// Otherwise 8-bit luma is 16...235 and chroma 16...240.
  package let isFullRange: Bool

  package init(matrix: Matrix, isFullRange: Bool) {
    self.matrix = matrix
    self.isFullRange = isFullRange
  }
}
