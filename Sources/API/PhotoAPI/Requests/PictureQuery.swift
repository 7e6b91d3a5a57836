import HTTPCore
import ImageService
import PhotoModel

/// The parsed request for one picture, before the asset is known: of `/v1/assets/{id}/image`, or of IIIF.
protocol PictureQuery: Sendable {
  /// The only content version that the caller accepts.
  var version: ContentVersion? { get }
  /// The client's own name for the request.
  var requestID: String? { get }
  /// The parameters as sent, after `preset` was replaced by its parameters.
  var parameters: [String: String] { get }
  /// The requested version of an adjusted asset.
  var imageVersion: ImageVersion { get }
  /// Whether the original may be downloaded from its remote store.
  var allowsNetwork: Bool { get }
  /// Whether the format follows `Accept`.
  var hasAutomaticFormat: Bool { get }
  /// Whether the response depends on `Accept`, and says so.
  var isNegotiated: Bool { get }

  func form(_ accept: Accept, hasAccept: Bool) -> DeliveryForm

  /// The formats for an asset. An automatic one is resolved from `Accept` and the asset's needs.
  func formats(for asset: Asset, accept: Accept, encoders: AutomaticEncoders) throws(Problem) -> FormatChoice

  /// The complete request for an asset.
  func request(for asset: Asset, as format: OutputFormat) throws(Problem) -> ImageRequest

  /// The value of the response's `Link` field; `nil` for none.
  func links(for asset: Asset) throws(Problem) -> String?
}
