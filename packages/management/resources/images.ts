// Stores that the direct upload of an image was permitted. Images are never received, and the upload address does not
// exist.

import * as v from 'valibot';
import { type Answer, apiError, type RoutedCall, successAnswer } from '../call/call.ts';
import { isTooDeep } from '../call/json.ts';
import { validate } from '../call/validation.ts';
import type { ItemStore } from './item-store.ts';

/** Forms contain only text, so a boolean may also be sent as text. */
const fromText = v.union([
  v.boolean(),
  v.pipe(
    v.picklist(['true', 'false']),
    v.transform((text) => text === 'true'),
  ),
]);
const metadata = v.union([
  v.looseObject({}),
  v.pipe(
    v.string(),
    v.check((text) => !isTooDeep(text), 'must not be nested too deeply'),
    v.parseJson(),
    v.looseObject({}),
  ),
]);

const UploadForm = v.object({
  id: v.optional(v.pipe(v.string(), v.nonEmpty(), v.maxLength(1024))),
  creator: v.optional(v.string()),
  expiry: v.optional(
    v.pipe(
      v.string(),
      v.check((text) => !Number.isNaN(Date.parse(text)), 'must be a date'),
    ),
  ),
  metadata: v.optional(metadata, {}),
  requireSignedURLs: v.optional(fromText, false),
});

export function createDirectUpload(store: ItemStore, call: RoutedCall): Answer {
  const form = validate(UploadForm, call.body);
  const id = form.id ?? call.ids[0]!;
  const uploads = store.collection('images/direct_upload');
  if (uploads.get(id)) throw apiError('ITEM_EXISTS', `The image ${id} already exists.`, '/id');
  uploads.insert({ ...form, id });
  return successAnswer({ id, uploadURL: `https://upload.provider.example/${id}` });
}
