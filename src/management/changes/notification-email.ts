// Until 2023-04-03 health checks have `notification_email`: an address, or several with commas between.

import { NOTIFICATION_EMAIL } from '../resources/healthchecks.ts';
import { admit, type Change } from './change.ts';

const LIST = '/zones/:zone_id/healthchecks';

export const notificationEmail: Change = {
  id: 'notification-email',
  operations: [
    `GET ${LIST}`,
    `POST ${LIST}`,
    ...['GET', 'PATCH', 'PUT'].map((method) => `${method} ${LIST}/:healthcheck_id`),
  ],
  request: (call) => admit(call, NOTIFICATION_EMAIL),
};
