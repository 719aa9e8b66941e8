/** Apps have no old names yet (../js/deprecation.js has those of pages). */

export const withOldNames = (target) => target;
