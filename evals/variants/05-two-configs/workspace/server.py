import configparser

TIMEOUT = 10
settings = configparser.ConfigParser()
settings.read('settings.ini')
print(f"port {settings['server']['port']}, timeout {TIMEOUT}")
