import Foundation
import PhotoFixtures

/// Requests, documents and the edits of other programs.
extension Seeds {
  static var adjustments: [[UInt8]] {
    let operations = [
      #"[{"type":"crop","rect":[0.1,0.2,0.6,0.5]},{"type":"rotate","quarterTurns":1},{"type":"flip","axis":"vertical"}]"#,
      #"[{"type":"straighten","degrees":-7.5},{"type":"vignette","amount":1,"radius":0.3},{"type":"sharpness","amount":1}]"#,
      #"[{"type":"perspective","matrix":[0.8,0.05,0.1,0.05,0.8,0.05,0.1,0.05,1],"aspectRatio":1.5}]"#,
      #"[{"type":"toneCurve","channel":"red","points":[[0,0],[0.5,0.8],[1,1]]},{"type":"noiseReduction","amount":0.5}]"#,
      #"[{"type":"exposure","ev":1},{"type":"warmth","amount":-1},{"type":"vibrance","amount":1},{"type":"contrast","amount":-1}]"#,
    ]
    let sidecars = [
      AdjustmentSidecar {
        $0.adjustments = [
          AdjustmentSidecar.crop(x: 4, y: 8, width: 32, height: 24), AdjustmentSidecar.orientation(6),
        ]
      },
      AdjustmentSidecar { $0.formatIdentifier = "com.example.editor" },
    ].map(\.encoded)
    let packets = [
      """
      crs:HasCrop="True" crs:CropLeft="0.2" crs:CropTop="0.2" crs:CropRight="0.8" crs:CropBottom="0.7" \
      crs:CropAngle="3.5" crs:Exposure2012="+0.50" tiff:Orientation="6"
      """,
      """
      aas:AffineA="0.99" aas:AffineB="0.1" aas:AffineC="-0.1" aas:AffineD="0.99" aas:AffineX="2" aas:AffineY="1" \
      aas:CropX="10" aas:CropY="12" aas:CropW="30" aas:CropH="20" aas:Vibrance="0.5" aas:Shadows="0.4"
      """,
    ].map { attributes in
      Array(
        """
        <x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
        <rdf:Description xmlns:crs="http://ns.adobe.com/camera-raw-settings/1.0/"
          xmlns:aas="http://ns.apple.com/adjustment-settings/1.0/" xmlns:tiff="http://ns.adobe.com/tiff/1.0/"
          \(attributes)/></rdf:RDF></x:xmpmeta>
        """.utf8)
    }
    return operations.map { [0] + Array($0.utf8) } + sidecars.map { [1] + $0 } + packets.map { [2] + $0 }
  }

  static var forms: [[UInt8]] {
    let head = "multipart/form-data; boundary=\"b b\"\n"
    return [
      "--b b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a \\\"b\\\".jpg\"\r\nContent-Type: image/jpeg\r\n\r\n"
        + "\r\n--b\r\n--b bc\r\r\n--b b \t\r\n\r\n\r\n--b b--\r\nepilogue",
      "preamble\r\n--b b\r\ncontent-disposition: form-data; filename*=UTF-8''%C3%A9\r\n\r\nx\r\n--b b--",
      "--b b\r\nX\r\n\r\n", "--b b--",
    ].map { Array((head + $0).utf8) }
  }

  static var storeAnswers: [[UInt8]] {
    [
      """
      <?xml version="1.0"?><ListBucketResult xmlns="a"><IsTruncated>true</IsTruncated>
      <NextContinuationToken>a+/=</NextContinuationToken><Contents><Key>a%20b%2Bc+d</Key>
      <LastModified>2013-05-24T00:00:01.000Z</LastModified><ETag>&quot;x&quot;</ETag><Size>12</Size></Contents>
      <Contents><Key>b</Key></Contents></ListBucketResult>
      """, "<Error><Code>SlowDown</Code><Message>&#x41;</Message></Error>",
      "<!DOCTYPE a [<!ENTITY b \"c\">]><ListBucketResult></ListBucketResult>",
      #"[{"path": "2024/a.jpg", "size": 12345, "etag": "\"x\""}, {"path": "a/.b/c", "size": 1, "etag": "y"}]"#,
      #"[{"path": "../a", "size": -1, "etag": "W/\"x\""}]"#,
    ].map { Array($0.utf8) }
  }

  static var requests: [[UInt8]] {
    [
      "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
      "\r\nPOST /b?x=%20&y HTTP/1.1\r\nHost: a:80\r\nContent-Length: 5\r\n\r\nhelloGET /3 HTTP/1.0\r\n\r\n",
      "PUT /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1 ; a=\"b\"\r\nx\r\n0A\r\n0123456789\r\n0\r\nT: t\r\n\r\n",
      "GET http://b:80/p?q HTTP/1.1\r\nHost: a\r\nConnection: x, close\r\nExpect: 100-continue\r\n\r\n",
      "OPTIONS * HTTP/1.1\r\nHost: [::1]:8080\r\nX: \t a \t\r\n\r\n",
    ].map { Array($0.utf8) }
  }

  static var predicates: [[UInt8]] {
    [
      "TRUEPREDICATE", "creationDate,-isFavorite", "isFavorite == YES && NOT (hidden != 0 || mediaType IN {image, 2})",
      "creationDate BETWEEN {'2024-05-06T07:08:09.5+02:00', CAST(1e3, \"NSDate\")} AND CAST(\"2024-05-06T07:08:09Z\", \"NSDate\") > modificationDate",
      "(mediaSubtypes & (photoHDR | PHAssetMediaSubtypePhotoLive | 0x1F)) != 0 OR !(1 & pixelWidth == 1)",
      "originalFilename LIKE[c] '*\\\\*?.j\\u0070g' OR originalFilename BEGINSWITH \"IMG_\" OR 'a' <> burstIdentifier",
      "burstIdentifier == nil and originalFilename CONTAINS [c] 'x' and uniformTypeIdentifier ENDSWITH \"jpeg\"",
      "latitude < -33.9628e-1 OR longitude => .5 OR duration =< pixelHeight OR fileSize IN {}",
      "localizedTitle >=[c] 'a' AND (type == folder OR subtype == smartAlbumRAW) AND estimatedAssetCount > 0 AND startDate < endDate",
    ].map { Array($0.utf8) }
  }
}
