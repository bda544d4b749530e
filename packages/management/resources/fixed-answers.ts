// Answers operations whose answer never changes: billing profiles, and analytics of a provider without traffic.

import { type Answer, type RoutedCall, successAnswer } from '../call/call.ts';
import type { ItemStore } from './item-store.ts';

export function showBillingProfile(_store: ItemStore, call: RoutedCall): Answer {
  return successAnswer({
    id: call.account?.id ?? '00000000000000000000000000000c01',
    first_name: '',
    last_name: '',
    address: '',
    city: '',
    country: '',
    type: 'free',
    payment_email: '',
  });
}

export function showDashboard(_store: ItemStore, { query, nowIso }: RoutedCall): Answer {
  const none = { all: 0, cached: 0, uncached: 0 };
  const totals = {
    since: query.since ?? nowIso,
    until: query.until ?? nowIso,
    requests: none,
    bandwidth: none,
    threats: { all: 0 },
    pageviews: { all: 0 },
    uniques: { all: 0 },
  };
  return successAnswer({ totals, timeseries: [] });
}
