// Shows and changes the settings of a zone's page protection. The emulator observes no traffic, so scripts, connections
// and cookies are empty lists; policies are a collection.

import * as v from 'valibot';
import { type Answer, type RoutedCall, successAnswer } from '../call/call.ts';
import { validate } from '../call/validation.ts';
import type { ItemStore } from './item-store.ts';

const Patch = v.partial(
  v.object({
    enabled: v.boolean(),
    use_cloudflare_reporting_endpoint: v.boolean(),
    use_connection_url_path: v.boolean(),
  }),
);

const INITIAL_SETTINGS = {
  enabled: false,
  use_cloudflare_reporting_endpoint: true,
  use_connection_url_path: false,
};

export function showPageShield(store: ItemStore, call: RoutedCall): Answer {
  return successAnswer(settingsOf(store, call));
}

export function editPageShield(store: ItemStore, call: RoutedCall): Answer {
  const patch = validate(Patch, call.body);
  store.putDocument('page_shield', {
    ...settingsOf(store, call),
    ...patch,
    updated_at: call.nowIso,
  });
  return successAnswer(settingsOf(store, call));
}

function settingsOf(store: ItemStore, call: RoutedCall): object {
  return (
    store.document<object>('page_shield') ?? {
      ...INITIAL_SETTINGS,
      updated_at: call.zone!.createdOn,
    }
  );
}
