import HTTPCore
import PhotoModel

/// The shape of an image answer.
enum DeliveryForm: Sendable, Hashable {
  /// One frame, as the body.
  case single
  /// `multipart/mixed`, for programs.
  case mixed
  /// `multipart/x-mixed-replace`, for a browser's `<img>`.
  case replace

  /// Two frames need a form that the client can take; where `Accept` allows neither it gets the final frame alone.
  init(_ query: ImageQuery, accept: Accept, hasAccept: Bool) {
    guard query.deliveryMode == .opportunistic else {
      self = .single
      return
    }
    switch query.multipart {
    case .mixed: self = .mixed
    case .replace: self = .replace
    case nil:
      if accept.names("multipart/mixed") {
        self = .mixed
      } else if accept.names("multipart/x-mixed-replace") || accept.namesFamily("image") {
        self = .replace
      } else if !hasAccept || accept.isOnlyWildcard {
        self = .mixed
      } else {
        self = .single
      }
    }
  }
}
