#if canImport(Glibc)
  import Glibc
#endif

/// How a gain map turns the base rendition of a picture into its alternate rendition, which has another dynamic range
/// (ISO 21496-1; Ultra HDR Image Format 1.1 has the same model).
///
/// A decoder computes for each colour channel, in linear light where 1 is the white of the base rendition, from a
/// sample of the map 0...1:
///
///     gain = minimum + (maximum - minimum) * pow(sample, 1 / gamma)         in stops
///     alternate = (base + baseOffset) * exp2(gain * weight) - alternateOffset
///
/// `weight` grows from 0 to 1 while the headroom of the display grows from ``baseHeadroom`` to ``alternateHeadroom``.
package struct GainMapMetadata: Sendable, Hashable {
  /// The parameters of one colour channel.
  package struct Channel: Sendable, Hashable {
    /// The gain of a sample of 0, in stops (log2).
    package var minimum: Double
    /// The gain of a sample of 1, in stops.
    package var maximum: Double
    /// The exponent with which the map's samples were encoded; above 0.
    package var gamma: Double
    /// Added to linear light before the gain, so that dark pixels do not divide by 0; usually 1/64.
    package var baseOffset: Double
    /// The same for the alternate rendition.
    package var alternateOffset: Double

    package init(minimum: Double, maximum: Double, gamma: Double, baseOffset: Double, alternateOffset: Double) {
      self.minimum = minimum
      self.maximum = maximum
      self.gamma = gamma
      self.baseOffset = baseOffset
      self.alternateOffset = alternateOffset
    }

    /// The factor of light for a sample of the map, 0...1.
    package func factor(ofSample sample: Double) -> Double {
      exp2(minimum + (maximum - minimum) * pow(sample, 1 / gamma))
    }

    /// No standard has limits; no picture needs more than these.
    fileprivate var isSound: Bool {
      let isFinite = [minimum, maximum, gamma, baseOffset, alternateOffset].allSatisfy(\.isFinite)
      return isFinite && abs(minimum) <= GainMapMetadata.maximumStops && abs(maximum) <= GainMapMetadata.maximumStops
        && minimum <= maximum && gamma > 0.001 && gamma <= 100 && abs(baseOffset) <= 16 && abs(alternateOffset) <= 16
    }
  }

  /// The largest gain and headroom that are accepted, in stops. The brightest display of ITU-R BT.2100 has 5.7.
  fileprivate static let maximumStops = 32.0

  /// One entry for all colours, or three: red, green and blue.
  package let channels: [Channel]
  /// The headroom of the display for which the base rendition is meant: log2 of its peak over its white. 0 for a base
  /// of standard range.
  package let baseHeadroom: Double
  /// The same for the alternate rendition. Displays between the two show a picture in between.
  package let alternateHeadroom: Double
  /// Whether gains apply to the colour channels of the base rendition; else to those of the alternate one.
  package let usesBaseColorSpace: Bool

  /// Whether the base rendition is the one of high dynamic range. Its colours can't be shown without the map.
  package var baseIsHDR: Bool { baseHeadroom > alternateHeadroom }

  /// `nil` for numbers that no picture has.
  ///
  /// - Parameter channels: one or three.
  package init?(
    channels: [Channel], baseHeadroom: Double, alternateHeadroom: Double, usesBaseColorSpace: Bool = true
  ) {
    guard channels.count == 1 || channels.count == 3, channels.allSatisfy(\.isSound), baseHeadroom.isFinite,
      alternateHeadroom.isFinite, (0...Self.maximumStops).contains(baseHeadroom),
      (0...Self.maximumStops).contains(alternateHeadroom), abs(baseHeadroom - alternateHeadroom) >= 0.001
    else { return nil }
    self.channels = Set(channels).count == 1 ? [channels[0]] : channels
    self.baseHeadroom = baseHeadroom
    self.alternateHeadroom = alternateHeadroom
    self.usesBaseColorSpace = usesBaseColorSpace
  }

  /// A map without offsets and gamma whose gains reach from 1 to the headroom: what Apple's gain maps become.
  ///
  /// - Parameter headroom: linear; above 1.
  package init?(linearHeadroom headroom: Double) {
    guard headroom.isFinite, headroom > 1 else { return nil }
    self.init(
      channels: [Channel(minimum: 0, maximum: log2(headroom), gamma: 1, baseOffset: 0, alternateOffset: 0)],
      baseHeadroom: 0, alternateHeadroom: log2(headroom))
  }
}
