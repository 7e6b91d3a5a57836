// Named parameters of image requests. A preset is replaced by its parameters before a request is read, so the request
// has the same cache key, entity tag and Content-Location as the request that spells them out.

import HTTPCore
import Primitives

/// The presets that requests may name, by name.
package struct ImagePresets: Sendable {
  /// Maximum number of presets in the settings.
  static let maximumCount = 64
  /// The parameters that a preset may set.
  static let parameterNames: Set<String> = [
    "targetSize", "contentMode", "resizeMode", "deliveryMode", "normalizedCropRect", "cropAnchor", "version", "format",
    "quality", "colorSpace", "dynamicRange", "resample", "bitDepth", "posterTime", "animated",
  ]
  /// The presets that always exist.
  static let builtIn: [String: [String: String]] = [
    "thumbnail": ["targetSize": "200x200", "contentMode": "aspectFill"],
    "aspectRatioThumbnail": ["targetSize": "360x360", "contentMode": "aspectFit"],
    "fullScreenImage": ["targetSize": "2048x2048", "contentMode": "aspectFit"],
    "fullResolutionImage": ["targetSize": "max"],
  ]

  /// Why a preset of the settings is refused.
  package enum Failure: Error, Sendable, Equatable, CustomStringConvertible {
    case tooMany(limit: Int, found: Int)
    /// The name has other characters than `A-Za-z0-9._-`, or not 1 to 64 of them.
    case invalidName(String)
    /// The preset exists already.
    case builtIn(String)
    /// The parameters are not a valid image query.
    case invalidParameters(name: String, reason: String)

    package var description: String {
      switch self {
      case .tooMany(let limit, let found): "there are \(found) presets, but at most \(limit) are allowed"
      case .invalidName(let name): "the preset name \(name) must be 1 to 64 of A-Z, a-z, 0-9, dot, dash and underscore"
      case .builtIn(let name): "the preset \(name) is built in and can't be changed"
      case .invalidParameters(let name, let reason): "the preset \(name): \(reason)"
      }
    }
  }

  /// The parameters of each preset, as an image query has them.
  private let presets: [String: [String: String]]

  /// The built-in presets.
  package init() { presets = Self.builtIn }

  /// - Parameter own: queries such as `targetSize=400x300&contentMode=aspectFill`, by the name of the preset.
  package init(_ own: [String: String]) throws(Failure) {
    guard own.count <= Self.maximumCount else { throw .tooMany(limit: Self.maximumCount, found: own.count) }
    var presets = Self.builtIn
    for (name, query) in own.sortedByKey {
      guard PlainName.isValid(name) else { throw .invalidName(name) }
      guard Self.builtIn[name] == nil else { throw .builtIn(name) }
      presets[name] = try Self.parameters(of: name, query)
    }
    self.presets = presets
  }

  private static func parameters(of name: String, _ query: String) throws(Failure) -> [String: String] {
    guard query.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
      let target = RequestTarget("/?\(query)", method: .get, host: nil), target.query == query
    else { throw .invalidParameters(name: name, reason: "is not a percent-encoded query") }
    do throws(Problem) {
      let parameters = try QueryReader(target).values
      if let other = parameters.keys.filter({ !parameterNames.contains($0) }).min() {
        throw QueryReader.invalid(
          other, "can't be part of a preset; the parameters are \(parameterNames.sorted().joined(separator: ", "))")
      }
      guard !parameters.isEmpty else { throw QueryReader.invalid(name, "has no parameters") }
      _ = try ImageQuery(target, presets: ImagePresets())
      return parameters
    } catch {
      throw .invalidParameters(name: name, reason: error.detail)
    }
  }

  /// The parameters of a preset. Throws 400 if there is none of that name.
  func parameters(of name: String) throws(Problem) -> [String: String] {
    guard let parameters = presets[name] else {
      throw QueryReader.invalid("preset", "must be one of \(presets.keys.sorted().joined(separator: ", "))")
    }
    return parameters
  }

  /// 400 for a parameter that the request gives and the preset sets to another value.
  static func contradiction(_ name: String, preset value: String) -> Problem {
    QueryReader.invalid(name, "contradicts the preset, which sets it to \(value); leave out one of the two")
  }
}
