/** A script that does what the client for apps may not. */

var touch = () => String(typeof crypto);
