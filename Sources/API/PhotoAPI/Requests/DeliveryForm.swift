import HTTPCore
import PhotoModel

/// The form of an image response.
enum DeliveryForm: Sendable, Hashable {
  /// One frame, as the body.
  case single
  /// `multipart/mixed`, for programs.
  case mixed
  /// `multipart/x-mixed-replace`, for a browser's `<img>`.
  case replace

  /// Opportunistic delivery sends several frames, which needs a multipart form. If `Accept` allows neither form, the
  /// client gets only the final frame.
  init(_ query: ImageQuery, accept: Accept, hasAccept: Bool) {
    guard query.deliveryMode == .opportunistic else {
      self = .single
      return
    }
    switch query.multipart {
    case .mixed: self = .mixed
    case .replace: self = .replace
    case nil:
      let (mixed, replace) = ("multipart/mixed", "multipart/x-mixed-replace")
      func names(_ type: String) -> Bool { accept.namesExplicitly(type) && accept.quality(of: type) > 0 }
      if names(mixed) {
        self = .mixed
      } else if names(replace) || accept.namesType("image") && !accept.refuses(replace) {
        self = .replace
      } else if !hasAccept || accept.isOnlyWildcard || accept.namesType("multipart") && accept.quality(of: mixed) > 0 {
        self = .mixed
      } else {
        self = .single
      }
    }
  }
}
