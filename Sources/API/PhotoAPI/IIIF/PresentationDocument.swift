import PhotoModel

/// Builds the documents of the Presentation API 3.0 from assets and collections.
struct PresentationDocument {
  static let context = "http://iiif.io/api/presentation/3/context.json"
  /// The name of the top level in paths.
  static let top = "top"
  private static let thumbnailSide = 400

  /// Scheme and authority, as the client sees them.
  let base: String

  private var root: String { "\(base)/iiif/presentation/3" }

  // MARK: Manifests (§5.2)

  func manifest(_ collection: AssetCollection, _ canvases: [JSONValue]) -> JSONValue {
    var members = reference(collection)
    members["@context"] = .string(Self.context)
    members["id"] = .string(manifestID(collection.localIdentifier))
    members["type"] = "Manifest"
    members["items"] = .array(canvases)
    members["partOf"] = [
      ["id": .string(collectionID(collection.parent?.rawValue ?? Self.top)), "type": "Collection"]
    ]
    if let start = collection.startDate { members["navDate"] = .string(seconds(start)) }
    return .object(members)
  }

  /// An asset as a canvas of its size with its picture painted on it (§5.3).
  func canvas(_ asset: Asset, in collection: LocalIdentifier) -> JSONValue {
    let id = "\(root)/\(collection)/canvas/\(asset.localIdentifier)"
    let descriptive = asset.descriptive
    var members: [String: JSONValue] = [
      "id": .string(id), "type": "Canvas",
      "label": label(descriptive.title ?? asset.original.displayName),
      "width": .integer(asset.pixelSize.width), "height": .integer(asset.pixelSize.height),
      "items": [painting(asset, on: id)], "thumbnail": [thumbnail(asset)],
      "navDate": .string(seconds(asset.creationDate)),
    ]
    if let caption = descriptive.caption { members["summary"] = label(caption) }
    if let license = descriptive.license { members["rights"] = .string(license) }
    if let rights = descriptive.rights {
      members["requiredStatement"] = entry("Rights", [rights])
    }
    var metadata: [JSONValue] = [entry("Date", [asset.creationDate.rfc3339])]
    if !descriptive.keywords.isEmpty { metadata.append(entry("Keywords", descriptive.keywords)) }
    // Only principals with the scope `location` have the names of the place.
    let place = [descriptive.place.city, descriptive.place.region, descriptive.place.country].compactMap(\.self)
    if !place.isEmpty { metadata.append(entry("Place", [place.joined(separator: ", ")])) }
    if let location = asset.location {
      metadata.append(entry("Coordinates", ["\(location.latitude), \(location.longitude)"]))
    }
    let camera = [asset.cameraMake, asset.cameraModel].compactMap(\.self)
    if !camera.isEmpty { metadata.append(entry("Camera", [camera.joined(separator: " ")])) }
    members["metadata"] = .array(metadata)
    return .object(members)
  }

  private func painting(_ asset: Asset, on canvas: String) -> JSONValue {
    [
      "id": .string(canvas + "/page"), "type": "AnnotationPage",
      "items": [
        [
          "id": .string(canvas + "/image"), "type": "Annotation", "motivation": "painting", "target": .string(canvas),
          "body": picture(asset, asset.pixelSize, size: "max"),
        ]
      ],
    ]
  }

  private func thumbnail(_ asset: Asset) -> JSONValue {
    let box = PixelSize(width: Self.thumbnailSide, height: Self.thumbnailSide)
    let request = ImageRequest(targetSize: .size(box))
    let size = SizeRules(request, upright: asset.pixelSize).output
    return picture(asset, size, size: "\(size.width),\(size.height)")
  }

  /// A picture with its image service (§5.7).
  private func picture(_ asset: Asset, _ size: PixelSize, size text: String) -> JSONValue {
    let service = "\(base)/iiif/3/\(asset.localIdentifier)"
    return [
      "id": .string("\(service)/full/\(text)/0/default.jpg"), "type": "Image", "format": "image/jpeg",
      "width": .integer(size.width), "height": .integer(size.height),
      "service": [["id": .string(service), "type": "ImageService3", "profile": "level2"]],
    ]
  }

  // MARK: Collections (§5.1)

  /// - Parameter folder: `nil` for the top level.
  func collection(_ folder: AssetCollection?, _ children: [AssetCollection]) -> JSONValue {
    var members: [String: JSONValue] = [
      "@context": .string(Self.context), "id": .string(collectionID(folder?.localIdentifier.rawValue ?? Self.top)),
      "type": "Collection", "label": label(folder.map(name) ?? "Library"),
      "items": .array(children.map { .object(reference($0)) }),
    ]
    if let folder {
      members["partOf"] = [
        ["id": .string(collectionID(folder.parent?.rawValue ?? Self.top)), "type": "Collection"]
      ]
    }
    return .object(members)
  }

  /// A collection as an item of another one.
  private func reference(_ collection: AssetCollection) -> [String: JSONValue] {
    let isFolder = collection.type == .folder
    return [
      "id": .string(
        isFolder ? collectionID(collection.localIdentifier.rawValue) : manifestID(collection.localIdentifier)),
      "type": isFolder ? "Collection" : "Manifest", "label": label(name(collection)),
    ]
  }

  /// The title, or else the days of a moment, or else the kind of collection.
  private func name(_ collection: AssetCollection) -> String {
    if let title = collection.title { return title }
    guard let start = collection.startDate, let end = collection.endDate else { return collection.subtype }
    let (first, last) = (String(seconds(start).prefix(10)), String(seconds(end).prefix(10)))
    return first == last ? first : "\(first) to \(last)"
  }

  private func collectionID(_ name: String) -> String { "\(root)/collection/\(name)" }

  private func manifestID(_ identifier: LocalIdentifier) -> String { "\(root)/\(identifier)/manifest" }

  // MARK: Values

  /// A text in no particular language (§4).
  private func label(_ text: String) -> JSONValue { ["none": [.string(text)]] }

  private func entry(_ name: String, _ values: [String]) -> JSONValue {
    ["label": ["en": [.string(name)]], "value": ["none": .array(values.map { .string($0) })]]
  }

  /// Without a fraction, as the definition of navDate shows.
  private func seconds(_ time: Timestamp) -> String {
    Timestamp(milliseconds: (time.milliseconds >= 0 ? time.milliseconds : time.milliseconds - 999) / 1000 * 1000)
      .rfc3339
  }
}
